#include "predict/optimised_graph.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/temporary_folder.h"
#include "engine/engine.h"
#include "limits/limits_file.h"
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
Status write_graph(const plan::Plan& plan, const GraphQuestion& question) {
  std::error_code failure;
  fs::create_symlink("/dev/null", plan.optimised_model + ".weights", failure);
  Result<EngineReport> report = ask_engine(plan, 0, question.limits, question.program);
  if (!report) return report.error();
  return {};
}

// The answers to one query about a model: in a persistent folder, or a temporary one.
class Answers {
 public:
  static Result<Answers> open(const GraphQuestion& question, const std::string& key) {
    RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
    return Answers(question, key, std::move(folder));
  }

  // The path of the answer `name`, created by `write` unless it is already stored.
  template <typename Write>
  Result<std::string> get(const std::string& name, Write&& write) const {
    const std::string kept = question_.folder.empty() ? "" : question_.folder + "/" + key_ + name;
    if (!kept.empty() && fs::exists(kept)) return kept;
    const std::string fresh = temporary_.path() + "/graph" + name;
    RIDGE_TRY(write(fresh));
    if (kept.empty()) return fresh;
    RIDGE_ASSIGN(const std::string content, read_file(fresh));
    if (Status written = write_file_atomically(kept, content); !written) {
      log::warning("{}", written.error().message);
      return fresh;
    }
    return kept;
  }
  const std::string& folder() const { return temporary_.path(); }

 private:
  Answers(const GraphQuestion& question, std::string key, TemporaryFolder folder)
      : question_(question), key_(std::move(key)), temporary_(std::move(folder)) {}

  const GraphQuestion& question_;
  std::string key_;
  TemporaryFolder temporary_;
};

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

// The shapes that the engine infers; none if it does not open its own graph without weights.
Result<model::Graph> engine_shapes(const std::string& optimised, const model::Graph& bound, const Answers& answers,
                                   const GraphQuestion& question) {
  Result<std::string> path = answers.get("." + sizes_of(bound) + ".onnx", [&](const std::string& to) -> Status {
    const std::string asked = answers.folder() + "/question.onnx";
    RIDGE_TRY(model::write_shape_question(optimised, bound, asked));
    plan::Plan plan = loading_plan(question.plan, asked, to);
    plan.graph_level = plan::GraphLevel::kOff;
    return write_graph(plan, question);
  });
  if (!path) return path.error();
  return model::read_optimised(*path);
}

}  // namespace

Result<model::Graph> optimised_graph(const model::UnboundModel& model, const model::Graph& bound,
                                     const GraphQuestion& question) {
  RIDGE_ASSIGN(const std::string key, key_of(model, question));
  RIDGE_ASSIGN(const Answers answers, Answers::open(question, key));
  RIDGE_ASSIGN(const std::string optimised, answers.get(".onnx", [&](const std::string& to) {
    return write_graph(loading_plan(question.plan, question.plan.model, to), question);
  }));
  RIDGE_ASSIGN(model::Graph graph, model::read_optimised(optimised));
  model::Graph known = graph;
  model::complete_shapes(known, bound);
  if (model::has_all_shapes(known)) return known;
  Result<model::Graph> shapes = engine_shapes(optimised, bound, answers, question);
  if (!shapes) {
    log::debug("shapes of the optimised graph: {}", shapes.error().message);
    return known;
  }
  model::complete_shapes(graph, *shapes);
  model::complete_shapes(graph, bound);
  return graph;
}

std::string default_graph_folder() {
  const std::string limits = limits::default_cache_file();
  return limits.empty() ? "" : (fs::path(limits).parent_path() / "graphs").string();
}

}  // namespace ridge::predict
