//! Tecplot's text files (`.dat`), as experiments and other programs give them: zones of points.
//!
//! **Source**: *Tecplot 360 Data Format Guide*, "ASCII Data".

/// A zone: its title and its rows, each with its line.
pub(super) struct Zone {
    pub title: String,
    pub rows: Vec<(usize, Vec<f64>)>,
}

/// The zones of a file, and the names of its columns in lower case.
pub(super) struct Tecplot {
    pub names: Vec<String>,
    pub zones: Vec<Zone>,
}

/// Whether a text is one of Tecplot's: it begins with one of its words.
pub(super) fn is_tecplot(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let word =
        first.unwrap_or_default().split([' ', '=', '\t']).next().unwrap_or_default().to_ascii_lowercase();
    ["title", "variables", "zone", "filetype"].contains(&word.as_str())
}

/// What stands in quotation marks.
fn quoted(line: &str) -> Vec<String> {
    line.split('"').skip(1).step_by(2).map(|name| name.trim().to_ascii_lowercase()).collect()
}

/// The value of a key of a zone, such as N of `N=12, E=10`; what stands in quotation marks does not count.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut quote = false;
    let plain: Vec<(usize, char)> = line
        .char_indices()
        .filter(|(_, c)| {
            quote ^= *c == '"';
            !quote
        })
        .collect();
    for (at, _) in plain {
        let rest = &line[at..];
        let begins = at == 0 || line[..at].ends_with([' ', ',', '\t']);
        if begins
            && rest.get(..key.len()).is_some_and(|word| word.eq_ignore_ascii_case(key))
            && let Some(rest) = rest[key.len()..].trim_start().strip_prefix('=')
        {
            return rest.trim_start().split([' ', ',', '\t']).next();
        }
    }
    None
}

/// Reads a text.
///
/// # Errors
/// The line, and what is wrong there.
pub(super) fn read(text: &str) -> Result<Tecplot, (usize, String)> {
    let (mut names, mut zones): (Vec<String>, Vec<Zone>) = (Vec::new(), Vec::new());
    // Where names or the words of a zone may go on, and the rows that are left of a zone that says how many it has.
    let (mut in_names, mut left) = (false, usize::MAX);
    for (i, line) in text.lines().enumerate() {
        let (number, line) = (i + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let word = line.split([' ', '=', '\t', ',']).next().unwrap_or_default().to_ascii_lowercase();
        let block = |line: &str| {
            let packing = value(line, "F").or_else(|| value(line, "DATAPACKING")).unwrap_or("POINT");
            packing.to_ascii_uppercase().ends_with("BLOCK")
        };
        match word.as_str() {
            "title" | "filetype" | "text" | "geometry" | "datasetauxdata" => in_names = false,
            "variables" => {
                let list = line.split_once('=').map_or("", |l| l.1);
                names = if list.contains('"') {
                    quoted(list)
                } else {
                    let parts = list.split([' ', ',', '\t']).filter(|p| !p.is_empty());
                    parts.map(str::to_ascii_lowercase).collect()
                };
                in_names = true;
            }
            "zone" => {
                in_names = false;
                if block(line) {
                    return Err((number, "a zone of the form BLOCK: write it as POINT".to_owned()));
                }
                let title = line.split('"').nth(1).unwrap_or_default().to_owned();
                zones.push(Zone { title, rows: Vec::new() });
                left = value(line, "N").and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
            }
            _ if in_names && line.starts_with('"') => names.extend(quoted(line)),
            // Words of a zone on lines of their own.
            _ if line.contains('=') => {
                if block(line) {
                    return Err((number, "a zone of the form BLOCK: write it as POINT".to_owned()));
                }
                left = value(line, "N").and_then(|n| n.parse().ok()).unwrap_or(left);
            }
            _ => {
                in_names = false;
                // After the points of a finite-element zone come its elements.
                if left == 0 {
                    continue;
                }
                if zones.is_empty() {
                    zones.push(Zone { title: String::new(), rows: Vec::new() });
                }
                let cells = line.split([' ', ',', '\t']).filter(|cell| !cell.is_empty());
                let row: Result<Vec<f64>, _> = cells.map(str::parse).collect();
                let row = row.map_err(|_| (number, format!("expected numbers, found {line:?}")))?;
                zones.last_mut().expect("pushed above").rows.push((number, row));
                left = left.saturating_sub(1);
            }
        }
    }
    Ok(Tecplot { names, zones })
}
