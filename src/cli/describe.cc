// ridge MODEL: what a model file is, and what can be done with it.
#include "app/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/describe_language.h"
#include "app/download.h"
#include "app/next_steps.h"
#include "base/units.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/model_file.h"

namespace ridge::cli {
namespace {

constexpr const char* kDescribeVerb = "describe";

struct DescribeOptions {
  app::Command command;
  std::string model;  // as typed, not where it was downloaded to or made
  std::vector<std::string> shapes;
  bool json = false;
};

std::string flops_text(const app::ModelDescription& description) {
  if (!description.flops && !description.shapes.empty()) return "not known before the open dimensions have sizes";
  if (!description.flops && !description.without_rule.empty())
    return fmt::format("not known: there is no rule for {}", fmt::join(description.without_rule, ", "));
  if (!description.flops) return "not known: a size inside the model depends on its data";
  std::string text = format_flops(*description.flops) + " at batch 1 (derived)";
  for (const std::string& op : description.without_rule) text += ", without " + op;
  return text;
}

// A tree ensemble keeps its numbers in attributes of its node.
std::string parameters_text(const app::ModelDescription& description) {
  if (description.parameters == 0)
    return description.without_rule.empty() ? "none" : "none among the tensors; those in nodes are not counted";
  return fmt::format("{}, {} of {}", format_count(static_cast<double>(description.parameters)),
                     format_bytes(static_cast<double>(description.weight_bytes)),
                     fmt::join(description.weight_types, " and "));
}

void render(const app::ModelDescription& description) {
  std::vector<std::vector<std::string>> rows;
  auto add = [&](const char* what, const std::vector<app::ModelDescription::Tensor>& tensors) {
    for (const app::ModelDescription::Tensor& tensor : tensors)
      rows.push_back({&tensor == &tensors.front() ? what : "", tensor.name + " " + tensor.type + " " + tensor.shape});
  };
  add("inputs", description.inputs);
  add("outputs", description.outputs);
  rows.push_back({"parameters", parameters_text(description)});
  rows.push_back({"work", flops_text(description)});
  const std::string producer = description.producer.empty() ? "an unknown producer" : description.producer;
  print(fmt::format("{} · {}, by {} · {} nodes", description.model,
                    description.is_ir ? "OpenVINO IR" : fmt::format("ONNX, opset {}", description.opset), producer,
                    description.nodes));
  print("\n" + table({}, rows, "ll"));
}

// serve takes files and URLs; of a reference model it gets the file that was made.
std::vector<std::string> next_of(const DescribeOptions& options, const app::ModelDescription& description,
                                 const model::Binding& binding, const std::string& file) {
  std::vector<std::string> shapes = options.shapes;
  shapes.insert(shapes.end(), description.shapes.begin(), description.shapes.end());
  const std::string words = model_words(options.model, shapes, "");
  std::vector<std::string> lines = {"ridge plan " + words, "ridge bench " + words};
  if (!description.is_ir) lines.push_back(tune_line(words, binding));
  lines.push_back("ridge serve " + app::shell_word(app::is_url(options.model) ? options.model : file));
  return lines;
}

std::string served_text(const app::LanguageDescription& d) {
  return d.forms.empty() ? "not by ridge serve: " + d.not_served
                         : fmt::format("by ridge serve, with weights as {}", fmt::join(d.forms, ", "));
}

void render(const app::LanguageDescription& d) {
  std::vector<std::vector<std::string>> rows = {
      {"layers", fmt::format("{}, {} wide", d.layers, d.hidden)},
      {"attention",
       fmt::format("{} of queries, {} of keys and values, {} wide", counted(d.heads, "head"), d.kv_heads, d.head_dim)},
      {"vocabulary", counted(d.vocabulary, "token")},
      {"parameters", format_count(d.parameters) + (d.active_parameters < d.parameters
                                                       ? ", " + format_count(d.active_parameters) + " used per token"
                                                       : std::string())},
      {"context", d.context > 0 ? fmt::format("{}; {} of cache each, in 16 bits (derived)", counted(d.context, "token"),
                                              format_bytes(d.cache_bytes_per_token))
                                : "not stated"},
      {"chats", d.chats ? "yes, by its template" : "no: " + d.no_chat},
      {"served", served_text(d)}};
  if (d.weight_bytes > 0) rows[3].back() += ", " + format_bytes(static_cast<double>(d.weight_bytes)) + " of files";
  print(fmt::format("{} · language model, {} · {}", d.model, d.kind, d.format));
  print("\n" + table({}, rows, "ll"));
  for (const std::string& note : d.notes) print(note_text(note));
}

std::vector<std::string> next_of(const app::LanguageDescription& d) {
  if (d.forms.empty()) return {compare_gpus_line(d.model)};
  const std::string model = app::shell_word(d.model);
  return {"ridge plan " + model, "ridge bench " + model, "ridge tune " + model + " -o models", "ridge serve " + model};
}

int describe_language(const DescribeOptions& options, const std::string& path) {
  const Result<app::LanguageDescription> description = app::describe_language(options.model, path);
  if (!description) return fail(kDescribeVerb, description.error());
  if (options.json) return print_json(options.command, json_of(*description)), kDone;
  render(*description);
  print_next(next_of(*description));
  return kDone;
}

}  // namespace

int describe(std::span<const std::string> arguments) {
  DescribeOptions options;
  options.command = typed(kDescribeVerb, arguments);
  CLI::App app;
  app.add_option("MODEL", options.model)->required();
  app.add_option("--shape", options.shapes);
  app.add_flag("--json", options.json);
  if (ParseResult parsed = parse(app, kDescribeVerb, arguments); !parsed.go_on) return parsed.exit;
  auto usage = [](const Error& error) { return fail(kDescribeVerb, error), kUsage; };
  model::Binding binding;
  for (const std::string& shape : options.shapes)
    if (Status known = model::parse_shape_option(shape, binding); !known) return usage(known.error());
  std::string file = options.model;
  if (Status fetched = fetch_model(kDescribeVerb, file); !fetched) return fail(kDescribeVerb, fetched.error());
  if (has_language_config(file)) return describe_language(options, file);
  const Result<model::UnboundModel> model = engine::read_model(file);
  if (!model) return fail(kDescribeVerb, model.error());
  const Result<app::ModelDescription> description = app::describe(options.model, *model, binding);
  if (!description) return usage(description.error());
  if (options.json) return print_json(options.command, json_of(*description)), kDone;
  render(*description);
  print_next(next_of(options, *description, binding, file));
  return kDone;
}

}  // namespace ridge::cli
