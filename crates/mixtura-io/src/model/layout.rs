//! Formats JSON for readability: one line per vector, not one per number.

use serde_json::Value;

/// The value as text, with one line per vector of numbers and per field.
pub(super) fn lines(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out.push('\n');
    out
}

fn write(value: &Value, depth: usize, out: &mut String) {
    let is_nested = |value: &Value| value.is_array() || value.is_object();
    match value {
        Value::Array(values) if values.iter().any(is_nested) => {
            let items = values.iter().map(|value| (None, value));
            block(items, ['[', ']'], depth, out);
        }
        Value::Object(fields) if depth == 0 || fields.values().any(is_nested) => {
            let items = fields.iter().map(|(key, value)| (Some(key), value));
            block(items, ['{', '}'], depth, out);
        }
        flat => out.push_str(&flat.to_string()),
    }
}

fn block<'a>(
    items: impl Iterator<Item = (Option<&'a String>, &'a Value)>,
    [open, close]: [char; 2],
    depth: usize,
    out: &mut String,
) {
    out.push(open);
    for (i, (key, value)) in items.enumerate() {
        out.push_str(if i == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            out.push_str(&Value::from(key.as_str()).to_string());
            out.push_str(": ");
        }
        write(value, depth + 1, out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn vectors_stand_on_one_line() {
        let value = json!({"weights": [0.5, 0.5], "means": [[1.0, 2.0], [3.0, 4.0]], "events": [{"kind": "clipped", "count": 2}]});
        let expected = r#"{
  "weights": [0.5,0.5],
  "means": [
    [1.0,2.0],
    [3.0,4.0]
  ],
  "events": [
    {"kind":"clipped","count":2}
  ]
}
"#;
        assert_eq!(lines(&value), expected);
    }
}
