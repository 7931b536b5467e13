//! Parses the header of a NumPy array: a Python dictionary with type, order and shape.
//!
//! Written by hand because the file may be malicious: a general parser of Python literals recurses as
//! deeply as the brackets are nested, and a stack overflow cannot be caught.

/// Maximum length of the header; NumPy writes about a hundred bytes, more only for structured types.
pub(crate) const MOST_BYTES: u64 = 1 << 16;

/// The contents of the header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// The type, or the whole list that describes a structured type.
    pub(crate) descr: String,
    pub(crate) is_fortran: bool,
    pub(crate) shape: Vec<u64>,
}

pub(crate) fn parse(text: &[u8]) -> Result<NpyHeader, String> {
    let text = std::str::from_utf8(text).map_err(|_| "not text".to_owned())?;
    let mut rest = text.trim().strip_prefix('{').ok_or("no dictionary")?;
    let (mut descr, mut is_fortran, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            if !after.trim().is_empty() {
                return Err(format!("{:?} after the dictionary", after.trim()));
            }
            break;
        }
        let (key, after) = quoted(rest)?;
        let (value, after) =
            value(after.trim_start().strip_prefix(':').ok_or_else(|| format!("no value for {key:?}"))?)?;
        match key {
            "descr" => descr = Some(quoted(value).map_or(value, |(descr, _)| descr).to_owned()),
            "fortran_order" => is_fortran = Some(boolean(value)?),
            "shape" => shape = Some(dimensions(value)?),
            _ => return Err(format!("unknown key {key:?}")),
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Ok(NpyHeader {
        descr: descr.ok_or("no \"descr\"")?,
        is_fortran: is_fortran.ok_or("no \"fortran_order\"")?,
        shape: shape.ok_or("no \"shape\"")?,
    })
}

/// A Python string at the start of the text, and what follows it.
fn quoted(text: &str) -> Result<(&str, &str), String> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"')).ok_or("no string")?;
    text[1..].split_once(quote).ok_or_else(|| "unterminated string".to_owned())
}

/// The text of a value up to the comma or brace that ends it, and what follows.
fn value(text: &str) -> Result<(&str, &str), String> {
    let mut depth = 0usize;
    let mut quote = None;
    for (place, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.checked_sub(1).ok_or("unbalanced bracket")?,
            (None, ',' | '}') if depth == 0 => return Ok((text[..place].trim(), &text[place..])),
            _ => {}
        }
    }
    Err("unterminated dictionary".to_owned())
}

fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err(format!("{text:?} is not True or False")),
    }
}

fn dimensions(text: &str) -> Result<Vec<u64>, String> {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let inside = inside.ok_or_else(|| format!("shape {text:?} is not a tuple"))?.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Ok(Vec::new());
    }
    inside.split(',').map(|number| number.trim().parse().map_err(|_| format!("{number:?} is not a size"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them_are_read() {
        let header = parse(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }          \n").unwrap();
        assert_eq!(header, NpyHeader { descr: "<f8".into(), is_fortran: false, shape: vec![3, 2] });
        let header = parse(b"{'shape': (5,), 'fortran_order': True, \"descr\": \">i4\"}").unwrap();
        assert_eq!(header, NpyHeader { descr: ">i4".into(), is_fortran: true, shape: vec![5] });
        assert!(parse(b"{'descr': '<f8', 'fortran_order': False, 'shape': ()}").unwrap().shape.is_empty());
        let structure =
            parse(b"{'descr': [('a', '<f8'), ('b}', '<i4', (2,))], 'fortran_order': False, 'shape': (1,), }");
        assert_eq!(structure.unwrap().descr, "[('a', '<f8'), ('b}', '<i4', (2,))]");
    }

    #[test]
    fn damaged_headers_are_refused() {
        for (text, reason) in [
            ("", "no dictionary"),
            ("{", "no string"),
            ("{}", "no \"descr\""),
            ("{'descr", "unterminated string"),
            ("{'descr' '<f8'}", "no value for \"descr\""),
            ("{'descr': '<f8', 'fortran_order': 1, 'shape': (1,)}", "\"1\" is not True or False"),
            ("{'descr': '<f8', 'fortran_order': True, 'shape': (-1,)}", "\"-1\" is not a size"),
            ("{'descr': '<f8', 'fortran_order': True, 'shape': 3}", "shape \"3\" is not a tuple"),
            ("{'descr': '<f8', 'shape': (99999999999999999999,)}", "\"99999999999999999999\" is not a size"),
            ("{'descr': ((((((", "unterminated dictionary"),
            ("{'descr': )", "unbalanced bracket"),
            ("{'other': 1}", "unknown key \"other\""),
            ("{'shape': (1,)} x", "\"x\" after the dictionary"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), reason, "{text}");
        }
        assert_eq!(parse(b"\xff").unwrap_err(), "not text");
    }
}
