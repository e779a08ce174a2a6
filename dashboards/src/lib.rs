//! What people see of a bill: text for a terminal or a mail, and web pages. Pure views of what `billing` computed; no
//! figure is made here and no IO is done.

mod line;

mod table;

pub mod text;

pub mod page;
