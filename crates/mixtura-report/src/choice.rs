//! Alternatives of a page, one of which is shown; those of a group are chosen together.

use std::fmt::Write as _;

use crate::escaped;
use crate::page::{Block, Counter, Section, html_of};

/// Several alternatives, one of which is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Label of the choice.
    pub label: String,
    /// Choices with the same group have one selector for the whole page, at its top. They show the option of the same
    /// position; one with too few options shows nothing.
    pub group: Option<String>,
    /// The alternatives: name and contents.
    pub options: Vec<(String, Vec<Block>)>,
}

impl Choice {
    pub(crate) fn to_html(&self, counter: &mut Counter) -> String {
        counter.n_choices += 1;
        let id = format!("choice-{}", counter.n_choices);
        let label = escaped(&self.label);
        let mut parts = String::new();
        for (number, (name, blocks)) in self.options.iter().enumerate() {
            let hidden = if number == 0 { "" } else { " hidden" };
            // The selector of a group is far away, and not printed.
            let name = match self.group {
                Some(_) => format!("<p class=\"chosen\">{label}: <b>{}</b></p>", escaped(name)),
                None => String::new(),
            };
            write!(parts, "<div class=\"option\"{hidden}>{name}{}</div>", html_of(blocks, counter))
                .expect("invariant: writing to a string cannot fail");
        }
        match &self.group {
            Some(group) => format!("<div class=\"choice\" data-group=\"{}\">{parts}</div>", escaped(group)),
            None => format!("<div class=\"choice\">{}{parts}</div>", self.selector(&id)),
        }
    }

    fn selector(&self, id: &str) -> String {
        let option = |(number, (name, _)): (usize, &(String, Vec<Block>))| {
            format!("<option value=\"{number}\">{}</option>", escaped(name))
        };
        let options: String = self.options.iter().enumerate().map(option).collect();
        format!("<label for=\"{id}\">{} <select id=\"{id}\">{options}</select></label>", escaped(&self.label))
    }
}

/// One selector for each group of choices, with the options of its longest choice. It is hidden until the script runs.
pub(crate) fn group_selectors(sections: &[Section]) -> String {
    let mut groups: Vec<(&str, &Choice)> = Vec::new();
    sections.iter().for_each(|section| collect(&section.blocks, &mut groups));
    if groups.is_empty() {
        return String::new();
    }
    let selector = |(number, (group, choice)): (usize, &(&str, &Choice))| {
        let id = format!("group-{}", number + 1);
        format!("<div class=\"group\" data-group=\"{}\">{}</div>", escaped(group), choice.selector(&id))
    };
    let selectors: String = groups.iter().enumerate().map(selector).collect();
    format!("<nav class=\"groups\" aria-label=\"shown on this page\" hidden>{selectors}</nav>")
}

fn collect<'a>(blocks: &'a [Block], groups: &mut Vec<(&'a str, &'a Choice)>) {
    for block in blocks {
        let Block::Choice(choice) = block else { continue };
        if let Some(group) = &choice.group {
            match groups.iter_mut().find(|(name, _)| name == group) {
                Some((_, longest)) if longest.options.len() < choice.options.len() => *longest = choice,
                Some(_) => {}
                None => groups.push((group, choice)),
            }
        }
        choice.options.iter().for_each(|(_, blocks)| collect(blocks, groups));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Page;

    fn choice(group: Option<&str>, n: usize) -> Block {
        let option = |i: usize| (format!("option {i}"), vec![Block::Text(format!("text {i}"))]);
        Block::Choice(Choice {
            label: "data set".into(),
            group: group.map(Into::into),
            options: (0..n).map(option).collect(),
        })
    }

    #[test]
    fn a_group_has_one_selector_and_shows_its_first_options() {
        let nested = Block::Choice(Choice {
            label: "start".into(),
            group: None,
            options: vec![("1".into(), vec![choice(Some("set"), 3)])],
        });
        let section = |block| Section { heading: "S".into(), blocks: vec![block] };
        let sections = vec![section(choice(Some("set"), 2)), section(choice(None, 2)), section(nested)];
        let html = Page { sections, ..Page::default() }.to_html();
        assert_eq!(html.matches("<select id=\"group-").count(), 1);
        assert_eq!(html.matches("<div class=\"choice\" data-group=\"set\">").count(), 2);
        // The selector of the group has the options of its longest choice; the others have their own selectors.
        assert_eq!(html.matches("<select").count(), 3);
        assert_eq!(html.matches("<option value=\"2\">option 2</option>").count(), 1);
        // 3 options beyond the first are hidden by the group, one by the choice of its own.
        assert_eq!(html.matches("<div class=\"option\" hidden>").count(), 4);
    }

    #[test]
    fn a_page_without_groups_has_no_selector_at_its_top() {
        let section = Section { heading: "S".into(), blocks: vec![choice(None, 2)] };
        assert!(!Page { sections: vec![section], ..Page::default() }.to_html().contains("<nav"));
    }
}
