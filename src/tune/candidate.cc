#include "tune/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/letter_case.h"
#include "base/units.h"
#include "engine/engines.h"

namespace ridge::tune {
namespace {

std::string options_text(const Candidate& candidate) {
  std::string result;
  if (candidate.spin == plan::Spin::kOff) result += ", no spinning";
  if (candidate.inter_op_threads > 1) result += fmt::format(", {} operators in parallel", candidate.inter_op_threads);
  if (candidate.block_base > 0) result += fmt::format(", block base {}", candidate.block_base);
  for (const auto& [key, value] : candidate.options) result += fmt::format(", {}={}", key, value);
  return result;
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
                        candidate.batch, name_of(names_of(candidate.spin), candidate.spin));
  if (candidate.inter_op_threads > 1) result += fmt::format(" inter_op_threads={}", candidate.inter_op_threads);
  if (candidate.block_base > 0) result += fmt::format(" block_base={}", candidate.block_base);
  for (const auto& [key, value] : candidate.options) result += fmt::format(" {}={}", key, value);
  return result;
}

std::string settings(const Candidate& candidate, std::string_view base) {
  const std::string_view engine = engine_of(candidate, base), label = engine::named(engine).label;
  const std::string name(label.empty() ? engine : label);
  if (candidate == baseline_candidate()) return name + "'s defaults";
  std::string variant = candidate.variant;
  const size_t end = std::min(variant.find('-'), variant.size());
  variant.replace(0, end, upper_case(variant.substr(0, end)));  // INT8-dynamic
  return fmt::format("{} {}, batch {}, {} × {}{}", name, variant, candidate.batch, candidate.instances,
                     candidate.threads == 0 ? "default threads" : counted(candidate.threads, "thread"),
                     options_text(candidate));
}

std::string describe(const Candidate& candidate) {
  if (candidate == baseline_candidate()) return "the engine's defaults";
  const Candidate usual;
  std::string result;
  if (!candidate.engine.empty()) result += candidate.engine + ", ";
  if (candidate.variant != usual.variant) result += candidate.variant + ", ";
  result += counted(candidate.instances, "instance") + " × ";
  result += candidate.threads == 0 ? "default threads" : counted(candidate.threads, "thread");
  return result + fmt::format(", batch {}", candidate.batch) + options_text(candidate);
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

Json to_json(const Candidate& candidate) { return json_of(candidate); }

}  // namespace ridge::tune
