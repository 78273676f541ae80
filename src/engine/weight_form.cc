#include "engine/weight_form.h"

#include <array>

#include "checkpoint/graph_folder.h"
#include "engine/decoder.h"

namespace ridge::engine {
namespace {

constexpr std::array<std::pair<WeightForm, std::string_view>, 5> kWeightForms = {{{WeightForm::kFp32, "fp32"},
                                                                                  {WeightForm::kBf16, "bf16"},
                                                                                  {WeightForm::kFp16, "fp16"},
                                                                                  {WeightForm::kInt8, "int8"},
                                                                                  {WeightForm::kInt4, "int4"}}};

constexpr std::array<std::pair<CacheForm, std::string_view>, 3> kCacheForms = {
    {{CacheForm::kFp32, "fp32"}, {CacheForm::kBf16, "bf16"}, {CacheForm::kU8, "u8"}}};

// Names of OpenVINO's types.
constexpr std::pair<std::string_view, WeightForm> kGraphForms[] = {
    {"f32", WeightForm::kFp32}, {"bf16", WeightForm::kBf16}, {"f16", WeightForm::kFp16}, {"i8", WeightForm::kInt8},
    {"u8", WeightForm::kInt8},  {"i4", WeightForm::kInt4},   {"u4", WeightForm::kInt4}};

Result<WeightForm> form_of_graph(const std::string& folder) {
  RIDGE_ASSIGN(const checkpoint::GraphConstants constants, checkpoint::graph_constants(folder));
  for (const auto& [type, form] : kGraphForms)
    if (type == constants.type) return form;
  return Error{Code::kUnsupported, checkpoint::graph_file(folder) + " has weights of type " + constants.type +
                                       "; known: fp32, fp16, bf16, int8 and int4 (optimum-cli's --weight-format)"};
}

}  // namespace

NameTable<WeightForm> names_of(WeightForm) { return kWeightForms; }
NameTable<CacheForm> names_of(CacheForm) { return kCacheForms; }

Result<WeightForm> form_of(const std::string& checkpoint, std::optional<WeightForm> asked) {
  const auto name = [](WeightForm form) { return std::string(name_of(kWeightForms, form)); };
  if (!checkpoint::is_graph_folder(checkpoint)) {
    if (asked != WeightForm::kFp16) return asked.value_or(WeightForm::kBf16);
    return Error{Code::kUnsupported, "weights in fp16 are run only from an OpenVINO folder that has them; take bf16"};
  }
  RIDGE_ASSIGN(const WeightForm own, form_of_graph(checkpoint));
  if (asked.value_or(own) == own) return own;
  return Error{Code::kUnsupported,
               checkpoint + " is an OpenVINO folder with weights in " + name(own) +
                   ", which are run as they are, not in " + name(*asked) +
                   "; leave the form out, or export the model in it (optimum-cli's --weight-format)"};
}

}  // namespace ridge::engine
