//! Every line of SQL, by name. The statements live in `migrations/` and `queries/`, one commented statement a file.
