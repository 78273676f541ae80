#include "tune/candidate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/engines.h"

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

Result<plan::Spin> spin_from_name(const std::string& name) {
  for (plan::Spin spin : {plan::Spin::kDefault, plan::Spin::kOn, plan::Spin::kOff})
    if (name == spin_name(spin)) return spin;
  return Error{Code::kInvalid, fmt::format("'spin' is '{}': one of default, on, off is expected", name)};
}

Result<int> member_int(const Json& json, const char* key, int otherwise) {
  RIDGE_ASSIGN(const int64_t value, json_member_or<int64_t>(json, key, otherwise));
  return static_cast<int>(value);
}

std::string counted(int number, const char* thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

// The base's engine keeps the base's library and options.
void take_over(const Implementation& own, plan::Plan& plan) {
  if (own.engine != plan.engine) {
    plan.engine = own.engine;
    plan.engine_library = own.engine_library;
    plan.options.clear();
  }
  for (const auto& [key, value] : own.options) plan.options[key] = value;
  plan.precision = own.precision;
  if (!own.file.empty()) plan.model = own.file;
}

}  // namespace

std::string text(const Candidate& candidate) {
  const Candidate usual;
  std::string result;
  if (!candidate.engine.empty()) result += fmt::format("engine={} ", candidate.engine);
  if (candidate.variant != usual.variant) result += fmt::format("variant={} ", candidate.variant);
  result += fmt::format("threads={} instances={} batch={} spin={}", candidate.threads, candidate.instances,
                        candidate.batch, spin_name(candidate.spin));
  if (candidate.inter_op_threads > 1) result += fmt::format(" inter_op_threads={}", candidate.inter_op_threads);
  if (candidate.block_base > 0) result += fmt::format(" block_base={}", candidate.block_base);
  for (const auto& [key, value] : candidate.options) result += fmt::format(" {}={}", key, value);
  return result;
}

std::string describe(const Candidate& candidate) {
  if (candidate == baseline_candidate()) return "the engine's defaults";
  const Candidate usual;
  std::string result;
  if (!candidate.engine.empty()) result += candidate.engine + ", ";
  if (candidate.variant != usual.variant) result += candidate.variant + ", ";
  result += counted(candidate.instances, "instance") + " × ";
  result += candidate.threads == 0 ? "default threads" : counted(candidate.threads, "thread");
  result += fmt::format(", batch {}", candidate.batch);
  if (candidate.spin == plan::Spin::kOff) result += ", no spinning";
  if (candidate.inter_op_threads > 1) result += fmt::format(", {} operators in parallel", candidate.inter_op_threads);
  if (candidate.block_base > 0) result += fmt::format(", block base {}", candidate.block_base);
  for (const auto& [key, value] : candidate.options) result += fmt::format(", {}={}", key, value);
  return result;
}

std::string_view engine_of(const Candidate& candidate, std::string_view base) {
  return candidate.engine.empty() ? base : candidate.engine;
}

bool runs(const Candidate& candidate, const Implementation& implementation, std::string_view base_engine) {
  return implementation.engine == engine_of(candidate, base_engine) && implementation.variant == candidate.variant;
}

const Implementation* implementation_of(const Candidate& candidate, std::span<const Implementation> implementations) {
  for (const Implementation& implementation : implementations)
    if (runs(candidate, implementation, implementations.front().engine)) return &implementation;
  return nullptr;
}

plan::Plan to_plan(const Candidate& candidate, const plan::Plan& base,
                   std::span<const Implementation> implementations) {
  plan::Plan plan = base;
  if (const Implementation* own = implementation_of(candidate, implementations)) take_over(*own, plan);
  plan.threads = candidate.threads;
  plan.instances = candidate.instances;
  plan.batch = candidate.batch * base.batch;
  for (auto& [name, shape] : plan.shapes)
    if (candidate.batch > 1 && !shape.empty()) shape[0] *= candidate.batch;
  plan.spin = candidate.spin;
  plan.inter_op_threads = candidate.inter_op_threads;
  const std::string_view block_base = engine::named(plan.engine).block_base_option;
  if (candidate.block_base > 0 && !block_base.empty())
    plan.options[std::string(block_base)] = std::to_string(candidate.block_base);
  for (const auto& [key, value] : candidate.options) plan.options[key] = value;
  return plan;
}

Json to_json(const Candidate& candidate) {
  Json json;
  if (!candidate.engine.empty()) json["engine"] = candidate.engine;
  json["variant"] = candidate.variant;
  json["threads"] = candidate.threads;
  json["instances"] = candidate.instances;
  json["batch"] = candidate.batch;
  json["spin"] = spin_name(candidate.spin);
  json["inter_op_threads"] = candidate.inter_op_threads;
  json["block_base"] = candidate.block_base;
  if (!candidate.options.empty()) json["options"] = candidate.options;
  return json;
}

Result<Candidate> candidate_from_json(const Json& json) {
  const Candidate plain;
  Candidate candidate;
  RIDGE_ASSIGN(candidate.engine, json_member_or<std::string>(json, "engine", plain.engine));
  RIDGE_ASSIGN(candidate.variant, json_member_or<std::string>(json, "variant", plain.variant));
  RIDGE_ASSIGN(candidate.threads, member_int(json, "threads", plain.threads));
  RIDGE_ASSIGN(candidate.instances, member_int(json, "instances", plain.instances));
  RIDGE_ASSIGN(candidate.batch, json_member_or<int64_t>(json, "batch", plain.batch));
  RIDGE_ASSIGN(const std::string spin, json_member_or<std::string>(json, "spin", "default"));
  RIDGE_ASSIGN(candidate.spin, spin_from_name(spin));
  RIDGE_ASSIGN(candidate.inter_op_threads, member_int(json, "inter_op_threads", plain.inter_op_threads));
  RIDGE_ASSIGN(candidate.block_base, member_int(json, "block_base", plain.block_base));
  if (const auto options = json.find("options"); options != json.end())
    for (const auto& [key, value] : options->items())
      if (value.is_string()) candidate.options[key] = value.get<std::string>();
  if (candidate.threads < 0 || candidate.instances < 1 || candidate.batch < 1)
    return Error{Code::kInvalid,
                 fmt::format("a candidate has at least 0 threads, 1 instance and 1 row: {}", dump_json(json))};
  return candidate;
}

}  // namespace ridge::tune
