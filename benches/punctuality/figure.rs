//! Figures against what they must be and what is aimed at.

/// One figure, as it is shown.
#[derive(Debug)]
pub struct Figure {
    pub name: String,
    pub value: String,
    pub must: String,
    pub aim: String,
    /// Whether it meets what it must; `None` where it is only reported.
    pub met: Option<bool>,
    /// Whether it meets what is aimed at.
    pub reached: bool,
}

impl Figure {
    /// A figure that is only reported.
    pub fn told(name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        let (must, aim) = (String::new(), String::new());
        Self { name, value, must, aim, met: None, reached: true }
    }

    /// A figure with what it must be and what is aimed at, and whether it is.
    pub fn held(
        name: impl Into<String>,
        value: impl Into<String>,
        (must, met): (&str, bool),
        (aim, reached): (&str, bool),
    ) -> Self {
        let told = Self::told(name, value);
        Self { must: must.to_owned(), aim: aim.to_owned(), met: Some(met), reached, ..told }
    }
}

/// Prints the figures; how many are not what they must be.
pub fn show(figures: &[Figure], markdown: bool) -> usize {
    if figures.is_empty() {
        return 0;
    }
    if markdown {
        println!("| figure | measured | must | aim |\n|---|---|---|---|");
    } else {
        println!("{:58} {:>34}  {:26} aim", "figure", "measured", "must");
    }
    for Figure { name, value, must, aim, met, reached } in figures {
        let mark = match (met, reached) {
            (None, _) => "",
            (Some(false), _) => "MISSED",
            (Some(true), false) => "met",
            (Some(true), true) => "reached",
        };
        if markdown {
            println!("| {name} | {value} | {must} | {aim} |");
        } else {
            println!("{name:58} {value:>34}  {must:26} {aim:26} {mark}");
        }
    }
    figures.iter().filter(|figure| figure.met == Some(false)).count()
}
