// Plan ⇄ JSON. Every field by its own name; an absent member keeps its default, so that a plan can be written by hand.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/name_table.h"
#include "plan/plan.h"

namespace ridge::plan {
namespace {

constexpr std::array<std::pair<GraphLevel, std::string_view>, 4> kGraphLevels = {{{GraphLevel::kOff, "off"},
                                                                                  {GraphLevel::kBasic, "basic"},
                                                                                  {GraphLevel::kExtended, "extended"},
                                                                                  {GraphLevel::kAll, "all"}}};
constexpr std::array<std::pair<Spin, std::string_view>, 3> kSpins = {
    {{Spin::kDefault, "default"}, {Spin::kOn, "on"}, {Spin::kOff, "off"}}};

template <typename Table, typename Key>
Status read_name(const Json& json, const char* member, const Table& table, Key& target) {
  RIDGE_ASSIGN(std::string given, json_member_or<std::string>(json, member, std::string(name_of(table, target))));
  std::string known;
  for (const auto& [key, name] : table) {
    if (name == given) {
      target = key;
      return ok_status();
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return Error{Code::kInvalid, fmt::format("member '{}' is '{}'; known: {}", member, given, known)};
}

template <typename T>
Status read_value(const Json& json, const char* member, T& target) {
  RIDGE_ASSIGN(target, json_member_or<T>(json, member, target));
  return ok_status();
}

// `least`: the smallest value that makes sense.
template <typename T>
Status read_count(const Json& json, const char* member, int64_t least, T& target) {
  RIDGE_ASSIGN(int64_t given, json_member_or<int64_t>(json, member, target));
  if (given < least || given > std::numeric_limits<int>::max())
    return Error{Code::kInvalid, fmt::format("member '{}' is {}; at least {} is needed", member, given, least)};
  target = static_cast<T>(given);
  return ok_status();
}

Status read_precision(const Json& json, Precision& target) {
  RIDGE_ASSIGN(std::string name, json_member_or<std::string>(json, "precision", std::string(precision_name(target))));
  RIDGE_ASSIGN(target, precision_from_name(name));
  return ok_status();
}

// The member as an object or array of that kind; null if absent.
Result<const Json*> find_container(const Json& json, const char* member, bool object) {
  auto found = json.find(member);
  if (found == json.end() || found->is_null()) return static_cast<const Json*>(nullptr);
  if (object ? !found->is_object() : !found->is_array())
    return Error{Code::kInvalid, fmt::format("member '{}' should be {}", member, object ? "an object" : "an array")};
  return &*found;
}

Status read_shapes(const Json& json, std::map<std::string, Shape>& target) {
  RIDGE_ASSIGN(const Json* shapes, find_container(json, "shapes", true));
  if (shapes == nullptr) return ok_status();
  for (const auto& [name, dimensions] : shapes->items()) {
    Shape shape;
    bool fits = dimensions.is_array();
    for (size_t i = 0; fits && i < dimensions.size(); ++i) {
      fits = dimensions[i].is_number_integer() && dimensions[i].get<int64_t>() >= 0;
      if (fits) shape.push_back(dimensions[i].get<int64_t>());
    }
    if (!fits)
      return Error{Code::kInvalid, fmt::format("member 'shapes': '{}' should be an array of dimensions ≥ 0", name)};
    target[name] = shape;
  }
  return ok_status();
}

Status read_options(const Json& json, std::map<std::string, std::string>& target) {
  RIDGE_ASSIGN(const Json* options, find_container(json, "options", true));
  if (options == nullptr) return ok_status();
  for (const auto& [name, value] : options->items()) {
    if (!value.is_string())
      return Error{Code::kInvalid, fmt::format("member 'options': '{}' should be a string", name)};
    target[name] = value.get<std::string>();
  }
  return ok_status();
}

Status read_reasons(const Json& json, std::vector<std::string>& target) {
  RIDGE_ASSIGN(const Json* reasons, find_container(json, "reasons", false));
  if (reasons == nullptr) return ok_status();
  for (const Json& reason : *reasons) {
    if (!reason.is_string()) return Error{Code::kInvalid, "member 'reasons' should hold strings"};
    target.push_back(reason.get<std::string>());
  }
  return ok_status();
}

Status read_into(const Json& json, Plan& plan) {
  RIDGE_ASSIGN(plan.model, json_member<std::string>(json, "model"));
  RIDGE_TRY(read_value(json, "engine", plan.engine));
  RIDGE_TRY(read_value(json, "engine_library", plan.engine_library));
  RIDGE_TRY(read_value(json, "device", plan.device));
  RIDGE_TRY(read_precision(json, plan.precision));
  RIDGE_TRY(read_count(json, "batch", 1, plan.batch));
  RIDGE_TRY(read_shapes(json, plan.shapes));
  RIDGE_TRY(read_count(json, "instances", 1, plan.instances));
  RIDGE_TRY(read_count(json, "threads", 0, plan.threads));
  RIDGE_TRY(read_count(json, "inter_op_threads", 1, plan.inter_op_threads));
  RIDGE_TRY(read_name(json, "spin", kSpins, plan.spin));
  RIDGE_TRY(read_value(json, "memory_arena", plan.memory_arena));
  RIDGE_TRY(read_value(json, "memory_pattern", plan.memory_pattern));
  RIDGE_TRY(read_name(json, "graph_level", kGraphLevels, plan.graph_level));
  RIDGE_TRY(read_value(json, "profile", plan.profile));
  RIDGE_TRY(read_value(json, "optimised_model", plan.optimised_model));
  RIDGE_TRY(read_options(json, plan.options));
  RIDGE_TRY(read_value(json, "bound_ms", plan.bound_ms));
  return read_reasons(json, plan.reasons);
}

}  // namespace

Json to_json(const Plan& plan) {
  return Json{{"model", plan.model},
              {"engine", plan.engine},
              {"engine_library", plan.engine_library},
              {"device", plan.device},
              {"precision", precision_name(plan.precision)},
              {"batch", plan.batch},
              {"shapes", plan.shapes},
              {"instances", plan.instances},
              {"threads", plan.threads},
              {"inter_op_threads", plan.inter_op_threads},
              {"spin", name_of(kSpins, plan.spin)},
              {"memory_arena", plan.memory_arena},
              {"memory_pattern", plan.memory_pattern},
              {"graph_level", name_of(kGraphLevels, plan.graph_level)},
              {"profile", plan.profile},
              {"optimised_model", plan.optimised_model},
              {"options", plan.options},
              {"bound_ms", plan.bound_ms},
              {"reasons", plan.reasons}};
}

Result<Plan> plan_from_json(const Json& json) {
  Plan plan;
  if (Status status = read_into(json, plan); !status) return wrap(std::move(status).error(), "read a plan");
  return plan;
}

}  // namespace ridge::plan
