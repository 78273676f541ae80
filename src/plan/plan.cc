#include "plan/plan.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace ridge::plan {
namespace {

constexpr std::array<std::pair<GraphLevel, std::string_view>, 4> kGraphLevels = {{{GraphLevel::kOff, "off"},
                                                                                  {GraphLevel::kBasic, "basic"},
                                                                                  {GraphLevel::kExtended, "extended"},
                                                                                  {GraphLevel::kAll, "all"}}};
constexpr std::array<std::pair<Spin, std::string_view>, 3> kSpins = {
    {{Spin::kDefault, "default"}, {Spin::kOn, "on"}, {Spin::kOff, "off"}}};

}  // namespace

NameTable<GraphLevel> names_of(GraphLevel) { return kGraphLevels; }
NameTable<Spin> names_of(Spin) { return kSpins; }

Json to_json(const Plan& plan) { return json_of(plan); }

}  // namespace ridge::plan
