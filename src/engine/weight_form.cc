#include "engine/weight_form.h"

#include <algorithm>
#include <array>

#include "checkpoint/graph_folder.h"
#include "engine/decoder.h"

namespace ridge::engine {
namespace {

constexpr std::array kForms = {WeightFormat::kFp32, WeightFormat::kBf16, WeightFormat::kFp16, WeightFormat::kInt8,
                               WeightFormat::kInt4};

constexpr std::array<std::pair<CacheForm, std::string_view>, 3> kCacheForms = {
    {{CacheForm::kFp32, "fp32"}, {CacheForm::kBf16, "bf16"}, {CacheForm::kU8, "u8"}}};

// Names of OpenVINO's types.
constexpr std::pair<std::string_view, WeightFormat> kGraphForms[] = {
    {"f32", WeightFormat::kFp32}, {"bf16", WeightFormat::kBf16}, {"f16", WeightFormat::kFp16},
    {"i8", WeightFormat::kInt8},  {"u8", WeightFormat::kInt8},   {"i4", WeightFormat::kInt4},
    {"u4", WeightFormat::kInt4}};

Result<WeightFormat> form_of_graph(const std::string& folder) {
  RIDGE_ASSIGN(const checkpoint::GraphConstants constants, checkpoint::graph_constants(folder));
  for (const auto& [type, form] : kGraphForms)
    if (type == constants.type) return form;
  return Error{Code::kUnsupported, checkpoint::graph_file(folder) + " has weights of type " + constants.type +
                                       "; known: fp32, fp16, bf16, int8 and int4 (optimum-cli's --weight-format)"};
}

}  // namespace

std::vector<WeightFormat> weight_forms() { return {kForms.begin(), kForms.end()}; }
Result<WeightFormat> weight_form(std::string_view name) {
  return from_name<WeightFormat>(names_of(WeightFormat()), name, "form of weights",
                                 [](WeightFormat form) { return std::ranges::count(kForms, form) > 0; });
}
NameTable<CacheForm> names_of(CacheForm) { return kCacheForms; }
Result<CacheForm> cache_form(std::string_view name) {
  return from_name<CacheForm>(kCacheForms, name, "form of the cache");
}

Result<WeightFormat> form_of(const std::string& checkpoint, std::optional<WeightFormat> asked) {
  const auto name = [](WeightFormat form) { return std::string(name_of(names_of(form), form)); };
  if (!checkpoint::is_graph_folder(checkpoint)) {
    if (asked != WeightFormat::kFp16) return asked.value_or(WeightFormat::kBf16);
    return Error{Code::kUnsupported, "weights in fp16 are run only from an OpenVINO folder that has them; take bf16"};
  }
  RIDGE_ASSIGN(const WeightFormat own, form_of_graph(checkpoint));
  if (asked.value_or(own) == own) return own;
  return Error{Code::kUnsupported,
               checkpoint + " is an OpenVINO folder with weights in " + name(own) +
                   ", which are run as they are, not in " + name(*asked) +
                   "; leave the form out, or export the model in it (optimum-cli's --weight-format)"};
}

}  // namespace ridge::engine
