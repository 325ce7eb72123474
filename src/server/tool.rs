//! Workflows as MCP tools: the list a client sees, in one order, built once a generation.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::{fixed, text};
use crate::definition::catalog::Catalog;
use crate::workflow::Workflow;

/// The tools of one generation.
pub(super) struct Toolbox {
    generation: u64,
    tools: Vec<Tool>,
}

impl Toolbox {
    /// Exposed workflows by name, then the fixed tools.
    pub fn of(catalog: &Catalog, fixed_tools: bool) -> Self {
        let exposed = catalog.workflows.values().filter(|w| w.exposed);
        let mut tools: Vec<Tool> = exposed.map(|w| of_workflow(w)).collect();
        if fixed_tools {
            tools.extend(fixed::tools());
        }
        Self { generation: catalog.generation, tools }
    }

    /// Which generation it was built from.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The tools, in their order.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

fn of_workflow(workflow: &Workflow) -> Tool {
    let made_up = simulated(workflow);
    let description = text::description(&workflow.description, workflow.plan.deadline, made_up);
    let title = text::title(&workflow.name, workflow.title.as_deref(), made_up);
    Tool::new(workflow.name.clone(), description, schema(workflow.input_schema.source()))
        .with_title(title.clone())
        .with_raw_output_schema(schema(workflow.output_schema.source()))
        .with_annotations(
            ToolAnnotations::with_title(title)
                .read_only(false)
                .destructive(false)
                .idempotent(false)
                .open_world(true),
        )
}

/// Whether every answer is made up, whichever path is taken.
pub(super) fn simulated(workflow: &Workflow) -> bool {
    let providers = &workflow.plan.providers;
    !providers.is_empty() && providers.iter().all(|p| p.simulated)
}

/// A root that is no object is refused when a workflow is loaded; clients would drop the whole list for it.
pub(super) fn schema(source: &Value) -> Arc<JsonObject> {
    match source {
        Value::Object(object) => Arc::new(object.clone()),
        _ => Arc::new(JsonObject::from_iter([("type".to_owned(), Value::from("object"))])),
    }
}
