#include "tune/candidate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::tune {
namespace {

const char* spin_name(plan::Spin spin) {
  switch (spin) {
    case plan::Spin::kOn: return "on";
    case plan::Spin::kOff: return "off";
    case plan::Spin::kDefault: break;
  }
  return "default";
}

std::string counted(int number, const char* thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace

std::string text(const Candidate& candidate) {
  std::string result = fmt::format("threads={} instances={} batch={} spin={}", candidate.threads, candidate.instances,
                                   candidate.batch, spin_name(candidate.spin));
  if (candidate.inter_op_threads > 1) result += fmt::format(" inter_op_threads={}", candidate.inter_op_threads);
  if (candidate.block_base > 0) result += fmt::format(" block_base={}", candidate.block_base);
  return result;
}

std::string describe(const Candidate& candidate) {
  if (candidate == baseline_candidate()) return "the engine's defaults";
  std::string result = counted(candidate.instances, "instance") + " × ";
  result += candidate.threads == 0 ? "default threads" : counted(candidate.threads, "thread");
  result += fmt::format(", batch {}", candidate.batch);
  if (candidate.spin == plan::Spin::kOff) result += ", no spinning";
  if (candidate.inter_op_threads > 1) result += fmt::format(", {} operators at a time", candidate.inter_op_threads);
  if (candidate.block_base > 0) result += fmt::format(", block base {}", candidate.block_base);
  return result;
}

plan::Plan to_plan(const Candidate& candidate, const plan::Plan& base) {
  plan::Plan plan = base;
  plan.threads = candidate.threads;
  plan.instances = candidate.instances;
  plan.batch = candidate.batch * base.batch;
  for (auto& [name, shape] : plan.shapes)
    if (candidate.batch > 1 && !shape.empty()) shape[0] *= candidate.batch;
  plan.spin = candidate.spin;
  plan.inter_op_threads = candidate.inter_op_threads;
  if (candidate.block_base > 0 && plan.engine == "onnxruntime")
    plan.options["session.dynamic_block_base"] = std::to_string(candidate.block_base);
  return plan;
}

Json to_json(const Candidate& candidate) {
  Json json;
  json["threads"] = candidate.threads;
  json["instances"] = candidate.instances;
  json["batch"] = candidate.batch;
  json["spin"] = spin_name(candidate.spin);
  json["inter_op_threads"] = candidate.inter_op_threads;
  json["block_base"] = candidate.block_base;
  return json;
}

}  // namespace ridge::tune
