//! Text tables that fit a width: one column wraps, numbers stand right.

/// Widest line of any text, in characters: fits a terminal, a mail and a landscape page.
pub(crate) const WIDTH_MAX: usize = 110;

/// A column of a table.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    /// Text, as wide as its widest cell.
    Left,
    /// Numbers, right-aligned.
    Right,
    /// Text that wraps at this many characters.
    Wrap(usize),
    /// Text that takes what is left of the line and wraps there; one a table.
    Fill,
}

/// Rows as aligned lines, each at most [`WIDTH_MAX`] wide as long as the unwrapped columns fit.
pub(crate) fn render(columns: &[Column], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|at| {
            let widest = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
            match columns[at] {
                Column::Left | Column::Right | Column::Fill => widest,
                Column::Wrap(most) => widest.min(most),
            }
        })
        .collect();
    if let Some(fill) = columns.iter().position(|c| matches!(c, Column::Fill)) {
        let gaps = 2 * (columns.len() - 1);
        let others: usize = widths.iter().enumerate().filter(|(at, _)| *at != fill).map(|(_, w)| w).sum();
        widths[fill] = widths[fill].min(WIDTH_MAX.saturating_sub(others + gaps).max(16));
    }
    let mut out = String::new();
    for row in rows {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(columns.iter().zip(&widths))
            .map(|(cell, (column, width))| match column {
                Column::Left | Column::Right => vec![cell.clone()],
                Column::Wrap(_) | Column::Fill => wrap(cell, *width),
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let padded: Vec<String> = cells
                .iter()
                .zip(columns.iter().zip(&widths))
                .map(|(cell, (column, width))| {
                    pad(cell.get(line).map_or("", String::as_str), *column, *width)
                })
                .collect();
            out.push_str(padded.join("  ").trim_end());
            out.push('\n');
        }
    }
    out
}

fn pad(text: &str, column: Column, width: usize) -> String {
    let fill = " ".repeat(width.saturating_sub(text.chars().count()));
    if matches!(column, Column::Right) { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

/// Lines of at most `width` characters, broken at spaces, and inside a word only where it is longer than a line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("there is always a line");
            let used = line.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + rest.len() <= width {
                line.push_str(&" ".repeat(gap));
                line.extend(&rest);
                break;
            }
            if used > 0 {
                lines.push(String::new());
            } else {
                let tail = rest.split_off(width);
                line.extend(&rest);
                lines.push(String::new());
                rest = tail;
            }
        }
    }
    lines
}

/// A text from the world on one line: control characters, which could move a terminal's cursor, become spaces.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_and_only_too_long_ones_break() {
        assert_eq!(wrap("held, not busy", 9), ["held, not", "busy"]);
        assert_eq!(wrap("GPU-0123456789", 6), ["GPU-01", "234567", "89"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a [2Jb c");
    }

    #[test]
    fn the_fill_column_gives_way_so_that_lines_fit() {
        let row = vec!["word ".repeat(40), "1.00".into()];
        let text = render(&[Column::Fill, Column::Right], &[row]);
        assert!(text.lines().count() > 1 && text.lines().all(|l| l.chars().count() <= WIDTH_MAX));
    }
}
