// What dotenvy reads in a file: keys and values, each followed by NUL.
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let mut out = std::io::stdout().lock();
    for pair in dotenvy::from_path_iter(path)? {
        let (key, value) = pair?;
        write!(out, "{key}\0{value}\0")?;
    }
    Ok(())
}
