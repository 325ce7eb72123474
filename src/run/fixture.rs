//! Small workflows built in code, for tests of what runs them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::domain::id::{ModelIx, PathIx, ProviderIx, StepIx};
use crate::domain::model::{ModelProfile, Structured};
use crate::domain::money::{Price, Usd};
use crate::domain::plan::{
    Budget, EachPlan, ModelPlan, Need, NeedKind, PathPlan, Plan, Policy, ProviderPlan, Role,
    StepPlan, Work,
};
use crate::domain::time::Share;
use crate::expression::Expression;
use crate::schema::Schema;
use crate::template::Template;
use crate::workflow::{Answer, EachContent, PromptContent, StepContent, WorkContent, Workflow};

/// A workflow under construction: input `{text: string, list: [string]}`, models `main` (paths `a/one`,
/// `b/two`), `strong` (`b/big`) which `main` links as stronger.
pub(crate) struct Build {
    plan: Plan,
    steps: Vec<StepContent>,
    output: Vec<(String, Expression)>,
}

pub(crate) fn path(provider: u16, name: &str, id: &str) -> PathPlan {
    let price = Price {
        input: Usd::from_dollars(1.0).unwrap(),
        output: Usd::from_dollars(4.0).unwrap(),
        cached_input: None,
    };
    PathPlan {
        label: format!("{name}/{id}"),
        provider: ProviderIx(provider),
        profile: ModelProfile {
            context: Some(32_000),
            structured: Structured::Schema,
            price: Some(price),
            trust: 0.99,
            ..ModelProfile::plain(id)
        },
    }
}

pub(crate) fn provider(name: &str) -> ProviderPlan {
    ProviderPlan {
        name: name.to_owned(),
        billed_on_cancel: true,
        own_capacity: false,
        simulated: false,
    }
}

impl Build {
    pub(crate) fn new(deadline: Duration) -> Self {
        let model = |name: &str, paths: &[u16], stronger| ModelPlan {
            name: name.to_owned(),
            paths: paths.iter().map(|p| PathIx(*p)).collect(),
            faster: None,
            stronger,
        };
        let plan = Plan {
            workflow: "flow".to_owned(),
            deadline,
            budget: Budget::default(),
            steps: Vec::new(),
            models: vec![model("main", &[0, 1], Some(ModelIx(1))), model("strong", &[2], None)],
            paths: vec![path(0, "a", "one"), path(1, "b", "two"), path(1, "b", "big")],
            providers: vec![provider("a"), provider("b")],
        };
        Self { plan, steps: Vec::new(), output: Vec::new() }
    }

    /// A step that answers `{text: string}`; needs what its prompt names.
    pub(crate) fn step(mut self, name: &str, prompt: &str) -> Self {
        let needs = self.needs(prompt);
        let work = Work::Model { model: ModelIx(0), max_tokens: 100, policy: Policy::default() };
        self.plan.steps.push(StepPlan {
            name: name.to_owned(),
            role: Role::Executor,
            work,
            needs,
            conditional: false,
            optional: false,
            each: None,
            cutoff_at: None,
            validates: None,
            judged_by: None,
            revise: 0,
            shrinks: false,
        });
        let schema = json!({
            "type": "object", "properties": {"text": {"type": "string"}},
            "required": ["text"], "additionalProperties": false,
        });
        self.steps.push(content(name, prompt, schema));
        self
    }

    fn needs(&self, prompt: &str) -> Vec<Need> {
        let template = Template::parse(prompt).unwrap();
        let ix = |name: &str| self.plan.steps.iter().position(|s| s.name == name);
        let steps = template.mentions().iter().filter_map(|m| ix(&m.name));
        steps
            .map(|at| {
                let step = StepIx(u16::try_from(at).unwrap());
                let optional = self.plan.steps[at].optional;
                let kind = if optional { NeedKind::Guarded } else { NeedKind::Output };
                Need { step, kind }
            })
            .collect()
    }

    /// A validator of the step before it.
    pub(crate) fn judge(self, name: &str, prompt: &str, revise: u32) -> Self {
        let judged = StepIx(u16::try_from(self.steps.len() - 1).unwrap());
        let mut this = self.step(name, prompt);
        let schema = json!({
            "type": "object",
            "properties": {"pass": {"type": "boolean"}, "why": {"type": "string"}},
            "required": ["pass"], "additionalProperties": false,
        });
        *this.steps.last_mut().unwrap() = content(name, prompt, schema);
        let this_ix = StepIx(judged.0 + 1);
        this.plan.steps[judged.at()].judged_by = Some(this_ix);
        let step = this.plan.steps.last_mut().unwrap();
        step.role = Role::Validator;
        step.validates = Some(judged);
        step.revise = revise;
        step.needs = vec![Need { step: judged, kind: NeedKind::Judges }];
        this
    }

    /// The last step is skipped where the condition is false.
    pub(crate) fn when(mut self, condition: &str) -> Self {
        self.plan.steps.last_mut().unwrap().conditional = true;
        self.steps.last_mut().unwrap().when = Some(Expression::parse(condition).unwrap());
        self
    }

    /// The last step fans out over `input.list`, as `item`.
    pub(crate) fn each(mut self, max_parallel: u32, min_ok: u16) -> Self {
        let min_ok = Share::percent(min_ok).unwrap();
        self.plan.steps.last_mut().unwrap().each = Some(EachPlan { max_parallel, min_ok });
        let list = Expression::parse("input.list").unwrap();
        self.steps.last_mut().unwrap().each =
            Some(EachContent { list, item: "item".to_owned(), when: None });
        self
    }

    /// The last step is computed, without a model: this one field.
    pub(crate) fn computed(mut self, field: &str, expression: &str) -> Self {
        self.plan.steps.last_mut().unwrap().work = Work::Value;
        let fields = vec![(field.to_owned(), Expression::parse(expression).unwrap())];
        self.steps.last_mut().unwrap().work = WorkContent::Value(fields);
        self
    }

    /// What must hold of the last step's answer.
    pub(crate) fn check(mut self, condition: &str) -> Self {
        self.steps.last_mut().unwrap().check.push(Expression::parse(condition).unwrap());
        self
    }

    pub(crate) fn change(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// A field of the result.
    pub(crate) fn output(mut self, name: &str, expression: &str) -> Self {
        self.output.push((name.to_owned(), Expression::parse(expression).unwrap()));
        self
    }

    pub(crate) fn done(self) -> Arc<Workflow> {
        let input = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["text"], "additionalProperties": false,
        });
        Arc::new(Workflow {
            name: "flow".to_owned(),
            title: None,
            description: "A test.".to_owned(),
            file: PathBuf::from("flow.yaml"),
            version: "0".to_owned(),
            plan: Arc::new(self.plan),
            input: Schema::to_shape(&input),
            input_schema: Schema::compile(input).unwrap(),
            vars: serde_json::Map::new(),
            steps: self.steps,
            output: self.output,
            output_schema: Schema::compile(json!({"type": "object"})).unwrap(),
            exposed: true,
        })
    }
}

fn content(name: &str, prompt: &str, schema: serde_json::Value) -> StepContent {
    StepContent {
        name: name.to_owned(),
        when: None,
        each: None,
        check: Vec::new(),
        work: WorkContent::Prompt(Box::new(PromptContent {
            system: None,
            prompt: Template::parse(prompt).unwrap(),
            history: Vec::new(),
            shrink: Vec::new(),
            answer: Answer::Json(Schema::compile(schema).unwrap()),
            temperature: None,
            effort: None,
        })),
    }
}
