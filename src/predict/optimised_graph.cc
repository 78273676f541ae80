#include "predict/optimised_graph.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/temporary_folder.h"
#include "engine/engine.h"
#include "model/optimised.h"
#include "predict/engine_process.h"

namespace ridge::predict {
namespace {

namespace fs = std::filesystem;

// A load-only plan: weights of at least a kilobyte leave the graph, and kernels do not pack them.
plan::Plan loading_plan(const plan::Plan& plan, const std::string& model, const std::string& answer) {
  plan::Plan loading = plan;
  loading.model = model;
  loading.threads = 1;
  loading.instances = 1;
  loading.profile = false;
  loading.optimised_model = answer;
  loading.options["session.optimized_model_external_initializers_min_size_in_bytes"] = "1024";
  loading.options["session.disable_prepacking"] = "1";
  return loading;
}

// The engine writes its graph of `plan`. The weights go to the null device, through a link named after the graph with
// ".weights".
Status write_graph(const plan::Plan& plan, const GraphQuestion& question, const ChildLimits& limits) {
  std::error_code failure;
  fs::create_symlink("/dev/null", plan.optimised_model + ".weights", failure);
  Result<EngineReport> report = ask_engine(plan, Nanoseconds{}, limits, question.program);
  if (!report) return report.error();
  return {};
}

// The path of an answer: `kept`, or where nothing is stored `fresh`. Created by `write` unless it is stored already.
template <typename Write>
Result<std::string> answer(const std::string& kept, const std::string& fresh, Write&& write) {
  if (!kept.empty() && fs::exists(kept)) return kept;
  RIDGE_TRY(write(fresh));
  if (kept.empty()) return fresh;
  RIDGE_ASSIGN(const std::string content, read_file(fresh, kAnySize));
  if (Status written = write_file_atomically(kept, content); !written) {
    log::warning("{}", written.error().message);
    return fresh;
  }
  return kept;
}

Result<std::string> key_of(const model::UnboundModel& model, const GraphQuestion& question) {
  RIDGE_ASSIGN(const std::string content, model.digest());
  RIDGE_ASSIGN(const engine::Info engine, engine::find_engine(question.plan));
  const Json plan = plan::to_json(question.plan);
  const std::string how = dump_json(Json{plan["graph_level"], plan["options"]});
  return question.machine + "." + engine.name + "-" + engine.version + "." + content + "-" + digest_text(how);
}

std::string sizes_of(const model::Graph& bound) {
  std::string text;
  for (const model::GraphInput& input : bound.input_specs) text += input.spec.name + shape_text(input.spec.shape);
  return digest_text(text);
}

bool has_open_sizes(const model::Graph& graph) {
  return std::any_of(graph.input_specs.begin(), graph.input_specs.end(), [](const model::GraphInput& input) {
    return std::any_of(input.spec.shape.begin(), input.spec.shape.end(), [](int64_t size) { return size < 0; });
  });
}

}  // namespace

Result<EngineGraph> EngineGraph::ask(const model::UnboundModel& model, const GraphQuestion& question,
                                     const ChildLimits& limits) {
  RIDGE_ASSIGN(const std::string key, key_of(model, question));
  const std::string kept = question.folder.empty() ? "" : question.folder + "/" + key;
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  RIDGE_ASSIGN(const std::string path,
               answer(kept.empty() ? "" : kept + ".onnx", folder.path() + "/graph.onnx", [&](const std::string& to) {
                 return write_graph(loading_plan(question.plan, question.plan.model, to), question, limits);
               }));
  RIDGE_ASSIGN(model::OptimisedModel optimised, model::OptimisedModel::read(path));
  EngineGraph engine(question, kept, std::move(folder), std::move(optimised));
  if (has_open_sizes(engine.optimised_.graph())) {
    const auto question_of = [&](const std::string& to) {
      return engine.optimised_.write_open_question(model.proto(), to);
    };
    Result<std::string> shapes = engine.shapes_of(question_of, ".open.onnx", limits);
    Result<std::unordered_set<std::string>> open = shapes ? model::read_open_results(*shapes) : shapes.error();
    if (open)
      engine.open_ = std::move(*open);
    else
      log::debug("open shapes of the optimised graph: {}", open.error().message);
  }
  return engine;
}

// The path of the engine's copy of its own graph without weights, with the shapes that it infers.
Result<std::string> EngineGraph::shapes_of(const std::function<Status(const std::string& question)>& write_question,
                                           const std::string& name, const ChildLimits& limits) {
  return answer(kept_.empty() ? "" : kept_ + name, folder_.path() + "/graph" + name,
                [&](const std::string& to) -> Status {
                  const std::string asked = folder_.path() + "/question.onnx";
                  RIDGE_TRY(write_question(asked));
                  plan::Plan plan = loading_plan(question_.plan, asked, to);
                  plan.graph_level = plan::GraphLevel::kOff;
                  return write_graph(plan, question_, limits);
                });
}

Result<model::Graph> EngineGraph::engine_shapes(const model::Graph& bound, const ChildLimits& limits) {
  const std::string sizes = sizes_of(bound);
  if (const auto known = shapes_.find(sizes); known != shapes_.end()) return known->second;
  const auto question_of = [&](const std::string& to) { return optimised_.write_shape_question(bound, to); };
  RIDGE_ASSIGN(const std::string path, shapes_of(question_of, "." + sizes + ".onnx", limits));
  RIDGE_ASSIGN(model::Graph shapes, model::read_optimised(path));
  return shapes_.emplace(sizes, std::move(shapes)).first->second;
}

Result<model::Graph> EngineGraph::at(const model::Graph& bound, const ChildLimits& limits) {
  model::Graph known = optimised_.graph();
  model::complete_shapes(known, bound);
  if (model::has_all_shapes(known)) return known;
  const Result<model::Graph> shapes = engine_shapes(bound, limits);
  if (!shapes) {
    log::debug("shapes of the optimised graph: {}", shapes.error().message);
    return known;
  }
  model::Graph graph = optimised_.graph();
  model::complete_shapes(graph, *shapes);
  model::complete_shapes(graph, bound);
  return graph;
}

std::string default_graph_folder() { return cache_folder("graphs"); }

}  // namespace ridge::predict
