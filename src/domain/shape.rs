//! The closed type system that references are checked against: what a step yields, what an input holds.
//!
//! A [`Shape`] is what authors write in `input`, `shapes` and `output`, and what a JSON Schema is read as
//! where one stands instead (what it cannot express becomes [`Shape::Any`]). Values are never coerced to fit.

use std::sync::Arc;

use serde_json::Value;

/// The type of a JSON value. Its parts are shared: a copy costs nothing, and a check of references makes many.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Anything; references below it cannot be checked.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer(Range),
    /// A number.
    Number(Range),
    /// Text.
    Text(TextRange),
    /// One of these words.
    Enum(Arc<[String]>),
    /// A list, every item of one shape.
    List(Arc<Shape>, ListRange),
    /// Named fields.
    Object(Arc<Object>),
    /// The shape, or null.
    Nullable(Arc<Shape>),
}

/// Bounds of a number, inclusive. Kept as JSON numbers so that they are passed on as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Range {
    /// Least value.
    pub min: Option<serde_json::Number>,
    /// Greatest value.
    pub max: Option<serde_json::Number>,
}

/// Bounds of a text, in Unicode scalar values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextRange {
    /// Least length.
    pub min: Option<u64>,
    /// Greatest length.
    pub max: Option<u64>,
    /// ECMA-262 regular expression that must be found in the text.
    pub pattern: Option<String>,
}

/// Bounds of a list's length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListRange {
    /// Fewest items.
    pub min: Option<u64>,
    /// Most items.
    pub max: Option<u64>,
}

/// Named fields, in the order they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// The fields.
    pub fields: Vec<Field>,
    /// Whether other fields may be present; never where the author wrote a shape.
    pub open: bool,
}

/// One field of an [`Object`].
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its key.
    pub name: String,
    /// What it holds.
    pub shape: Shape,
    /// Whether it may be absent (`key?:`).
    pub optional: bool,
    /// The value that stands in where it is absent.
    pub default: Option<Value>,
    /// What it means, for people and models.
    pub about: Option<String>,
}

impl Shape {
    /// Text without bounds.
    #[must_use]
    pub fn text() -> Self {
        Self::Text(TextRange::default())
    }

    /// A list of `item`, of any length.
    #[must_use]
    pub fn list(item: Self) -> Self {
        Self::List(Arc::new(item), ListRange::default())
    }

    /// A closed object of required fields.
    #[must_use]
    pub fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, shape)| Field {
                name: name.to_owned(),
                shape,
                optional: false,
                default: None,
                about: None,
            })
            .collect();
        Self::from(Object { fields, open: false })
    }

    /// The same shape with what stands at `path` known to be there.
    fn prove(&mut self, path: &[String]) {
        while let Self::Nullable(inner) = self {
            *self = (**inner).clone();
        }
        let (Self::Object(object), Some((name, rest))) = (self, path.split_first()) else { return };
        let fields = &mut Arc::make_mut(object).fields;
        if let Some(field) = fields.iter_mut().find(|field| field.name == *name) {
            field.optional = false;
            field.shape.prove(rest);
        }
    }

    /// The shape in a message: `[string]`, `{id: string, text: string}`, `low | high`, `string | null`.
    /// Objects of more than four fields end in `…`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::Boolean => "boolean".to_owned(),
            Self::Integer(_) => "integer".to_owned(),
            Self::Number(_) => "number".to_owned(),
            Self::Text(_) => "string".to_owned(),
            Self::Enum(words) => words.join(" | "),
            Self::List(item, _) => format!("[{}]", item.describe()),
            Self::Nullable(inner) => format!("{} | null", inner.describe()),
            Self::Object(object) => {
                let mut parts: Vec<String> = object
                    .fields
                    .iter()
                    .take(4)
                    .map(|f| {
                        let mark = if f.optional { "?" } else { "" };
                        format!("{}{mark}: {}", f.name, f.shape.describe())
                    })
                    .collect();
                if object.fields.len() > 4 {
                    parts.push("…".to_owned());
                }
                format!("{{{}}}", parts.join(", "))
            }
        }
    }
}

impl From<Object> for Shape {
    fn from(object: Object) -> Self {
        Self::Object(object.into())
    }
}

impl Object {
    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

/// The names an expression or template may use, and what each holds.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Sorted by name.
    bindings: Vec<(Arc<str>, Binding)>,
}

/// One visible name.
#[derive(Clone, Debug)]
pub struct Binding {
    /// What it holds.
    pub shape: Shape,
    /// Whether it can be missing when the text is evaluated.
    pub presence: Presence,
}

/// Whether a name can be missing at run time; a reference to one that can must be guarded or defaulted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always there.
    Always,
    /// May be missing; the text says why, as `'gaps' is optional`.
    Maybe(Arc<str>),
}

impl Scope {
    /// Makes `name` visible, hiding an outer binding of the same name. A name with a dot, as `answer.items`, is a
    /// [view](Self::view).
    pub fn bind(&mut self, name: impl Into<Arc<str>>, shape: Shape, presence: Presence) {
        let (name, binding) = (name.into(), Binding { shape, presence });
        match self.place(&name) {
            Ok(at) => self.bindings[at].1 = binding,
            Err(at) => self.bindings.insert(at, (name, binding)),
        }
    }

    /// What stands at `path`, and everything around it, is known to be there: the other views of the same name too, as
    /// `answer.items` where `answer` is. `run.status.answer.ok` says that `answer` is there.
    pub fn prove(&mut self, path: &[String]) {
        if let [run, status, name, ok] = path
            && [run, status, ok] == ["run", "status", "ok"]
        {
            self.prove(std::slice::from_ref(name));
            return;
        }
        let Some((name, rest)) = path.split_first() else { return };
        let Ok(at) = self.place(name) else { return };
        let binding = &mut self.bindings[at].1;
        binding.presence = Presence::Always;
        binding.shape.prove(rest);
        let views = format!("{name}.");
        let views = self.bindings.iter_mut().filter(|(other, _)| other.starts_with(&views));
        views.for_each(|(_, view)| view.presence = Presence::Always);
    }

    /// What `name` holds.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Binding> {
        self.place(name).ok().map(|at| &self.bindings[at].1)
    }

    /// What the second view `name.field` of a name holds, where there is one.
    #[must_use]
    pub fn view(&self, name: &str, field: &str) -> Option<&Binding> {
        let wanted = || name.bytes().chain([b'.']).chain(field.bytes());
        let at = self.bindings.binary_search_by(|(known, _)| known.bytes().cmp(wanted())).ok()?;
        Some(&self.bindings[at].1)
    }

    /// All visible names, sorted, for did-you-mean.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|(name, _)| &**name)
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.bindings.binary_search_by(|(known, _)| (**known).cmp(name))
    }
}
