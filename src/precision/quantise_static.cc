#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/guarded.h"
#include "precision/batch_norm.h"
#include "precision/matrix_bias.h"
#include "precision/pass_model.h"
#include "precision/qdq_constants.h"
#include "precision/quantise.h"
#include "precision/sites.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

constexpr int64_t kPerChannelOpset = 13;  // of DequantizeLinear with an axis

// Opened, raised to a sufficient opset, normalisations and biases fused into the operators before them.
Result<PassModel> prepared(const model::WholeModel& whole) {
  RIDGE_ASSIGN(PassModel model, PassModel::open(whole, kPerChannelOpset));
  RIDGE_ASSIGN([[maybe_unused]] const int folded, fold_batch_norms(model));
  RIDGE_ASSIGN([[maybe_unused]] const int fused, fuse_biases(model));
  return model;
}

Status check_ranges(const TensorRanges& ranges) {
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  for (const auto& [tensor, range] : ranges) {
    const bool sane = std::abs(range.minimum) <= kMost && std::abs(range.maximum) <= kMost;  // false for NaN
    if (!sane || range.minimum > range.maximum)
      return Error{Code::kInvalid,
                   fmt::format("the range {} … {} of tensor '{}' cannot be quantised: both ends must be finite and in "
                               "order; look at the calibration data",
                               range.minimum, range.maximum, tensor)};
  }
  return {};
}

// --------------------------------------------------------------------------------------------- what can be quantised

// A tensor of the site without a range; empty if there is none.
std::string without_range(PassModel& model, const Sites& sites, const Site& site, const TensorRanges& ranges) {
  std::vector<std::string> tensors;
  for (int slot : site.activations) tensors.push_back(model.node(site.node).input(slot));
  if (site.quantises_output) tensors.insert(tensors.end(), site.outputs.begin(), site.outputs.end());
  for (const std::string& tensor : tensors) {
    auto source = sites.ranged.find(tensor);
    if (source != sites.ranged.end() && ranges.count(source->second) == 0) return source->second;
  }
  return {};
}

Result<bool> has_finite_constants(PassModel& model, const Site& site) {
  for (const std::string& name : {site.weight, site.bias}) {
    if (name.empty()) continue;
    RIDGE_ASSIGN(const std::vector<float> values, model.values(*model.constant(name)));
    if (!all_finite(values)) return false;
  }
  return true;
}

// The sites left after dropping those without a range or with unsuitable weights; a note for each of those.
Result<Sites> usable_sites(PassModel& model, const TensorRanges& ranges, const QuantiseOptions& options,
                           std::vector<std::string>& notes) {
  std::set<int> excluded;
  for (const Site& site : find_sites(model, options).all) {
    RIDGE_ASSIGN(const bool finite, has_finite_constants(model, site));
    if (finite) continue;
    excluded.insert(site.node);
    notes.push_back(
        fmt::format("{} stays in floating point: its weights are not all finite.", model.node(site.node).name()));
  }
  while (true) {
    Sites sites = find_sites(model, options, excluded);
    const size_t before = excluded.size();
    for (const Site& site : sites.all) {
      const std::string missing = without_range(model, sites, site, ranges);
      if (missing.empty()) continue;
      excluded.insert(site.node);
      if (site.heavy)
        notes.push_back(fmt::format("{} stays in floating point: calibration gave no range for '{}'.",
                                    model.node(site.node).name(), missing));
    }
    if (excluded.size() == before) return sites;
  }
}

// -------------------------------------------------------------------------------------------------------- activations

class ActivationQuantiser {
 public:
  ActivationQuantiser(PassModel& model, const Sites& sites, const TensorRanges& ranges, const QuantiseOptions& options)
      : model_(model), sites_(sites), symmetric_(options.symmetric_activations) {
    for (const auto& [tensor, source] : sites.ranged) {
      const TensorRange& range = ranges.at(source);
      affine_[source] = symmetric_ ? symmetric_int8(range) : affine_uint8(range);
      affine_[tensor] = affine_[source];
    }
    for (const Site& site : sites.all)
      if (site.quantises_output) made_.insert(site.outputs.begin(), site.outputs.end());
  }

  const std::map<std::string, Affine>& affine() const { return affine_; }

  // Adds the pairs and connects nodes to their outputs. Node indices stay; new nodes are appended.
  void insert_pairs() {
    const Wiring wiring = model_.wiring();
    for (const auto& [tensor, source] : sites_.ranged) insert_pair(wiring, tensor, source);
  }

 private:
  struct Parameters {
    std::string scale;
    std::string zero_point;
  };

  void insert_pair(const Wiring& wiring, const std::string& tensor, const std::string& source) {
    const bool made_in_integers = made_.count(tensor) > 0;
    std::string real = tensor;  // input of QuantizeLinear
    const bool takes_name = made_in_integers && wiring.is_fixed(tensor);
    if (takes_name) real = rename_output(wiring.producer.at(tensor), tensor);
    const Parameters& parameters = parameters_of(source);
    const std::string quantised = add_quantise(tensor, real, parameters);
    std::string dequantised = add_dequantise(model_, tensor, quantised, parameters.scale, parameters.zero_point, -1);
    if (takes_name) {
      model_.node(model_.graph().node_size() - 1).set_output(0, tensor);
      dequantised = tensor;
    }
    auto uses = wiring.uses.find(tensor);
    if (uses == wiring.uses.end()) return;
    for (const Use& use : uses->second)
      if (made_in_integers || reads_quantised(use)) model_.node(use.node).set_input(use.slot, dequantised);
  }

  bool reads_quantised(const Use& use) const {
    auto site = std::lower_bound(sites_.all.begin(), sites_.all.end(), use.node,
                                 [](const Site& each, int node) { return each.node < node; });
    if (site == sites_.all.end() || site->node != use.node) return false;
    return std::find(site->activations.begin(), site->activations.end(), use.slot) != site->activations.end();
  }

  // An output of the model keeps its name behind the pair, so its producer needs another.
  std::string rename_output(int index, const std::string& tensor) {
    onnx::NodeProto& node = model_.node(index);
    std::string name = model_.unused_name(tensor + "_real");
    for (std::string& output : *node.mutable_output())
      if (output == tensor) output = name;
    return name;
  }

  const Parameters& parameters_of(const std::string& source) {
    auto [entry, is_new] = parameters_.try_emplace(source);
    if (!is_new) return entry->second;
    const Affine affine = affine_.at(source);
    entry->second.scale = model_.add_constant(source + "_scale", onnx::TensorProto::FLOAT, {},
                                              bytes_of(std::vector<float>{affine.scale}));
    entry->second.zero_point =
        model_.add_constant(source + "_zero_point", symmetric_ ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8, {},
                            std::string(1, static_cast<char>(affine.zero_point)));
    return entry->second;
  }

  std::string add_quantise(const std::string& tensor, const std::string& real, const Parameters& parameters) {
    return model_
        .add_node("QuantizeLinear", tensor + "_QuantizeLinear", {real, parameters.scale, parameters.zero_point},
                  model_.unused_name(tensor + "_quantized"))
        .output(0);
  }

  PassModel& model_;
  const Sites& sites_;
  bool symmetric_;
  std::map<std::string, Affine> affine_;          // by tensor, and by the tensor that provides the range
  std::set<std::string> made_;                    // by nodes with integer output
  std::map<std::string, Parameters> parameters_;  // by the tensor that provides the range
};

// ------------------------------------------------------------------------------------------------------------ report

void count_nodes(PassModel& model, const Sites& sites, PassReport& report) {
  report.changed_nodes = static_cast<int>(sites.all.size());
  report.kept_nodes = static_cast<int>(sites.kept.size());
  std::map<std::string, int> operators;
  for (const Site& site : sites.all) ++operators[model.node(site.node).op_type()];
  std::string text;
  for (const auto& [op, count] : operators) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, op);
  report.notes.push_back("In integers: " + text + ".");
}

bool has_heavy(const Sites& sites) {
  return std::any_of(sites.all.begin(), sites.all.end(), [](const Site& site) { return site.heavy; });
}

Result<PassReport> quantised(const model::WholeModel& whole, const TensorRanges& ranges, const QuantiseOptions& options,
                             const std::string& out_file) {
  RIDGE_TRY(check_ranges(ranges));
  RIDGE_ASSIGN(PassModel model, prepared(whole));
  PassReport report;
  RIDGE_ASSIGN(const Sites sites, usable_sites(model, ranges, options, report.notes));
  if (!has_heavy(sites))
    return Error{
        Code::kUnsupported,
        "no convolution or matrix multiplication with constant FP32 weights and calibrated inputs is left to quantise"};
  count_nodes(model, sites, report);
  ActivationQuantiser activations(model, sites, ranges, options);
  RIDGE_TRY(quantise_constants(model, sites, activations.affine(), options));
  activations.insert_pairs();
  RIDGE_ASSIGN(report.bytes, model.write(out_file));
  report.file = out_file;
  return report;
}

}  // namespace

Result<std::vector<std::string>> quantisable_nodes(const model::WholeModel& whole, const QuantiseOptions& options) {
  return model::guarded("find what can be quantised", [&]() -> Result<std::vector<std::string>> {
    RIDGE_ASSIGN(PassModel model, prepared(whole));
    std::vector<std::string> names;
    for (const Site& site : find_sites(model, options).all)
      if (site.heavy) names.push_back(model.node(site.node).name());
    return names;
  });
}

Result<std::vector<std::string>> calibration_tensors(const model::WholeModel& whole, const QuantiseOptions& options) {
  return model::guarded("find what to calibrate", [&]() -> Result<std::vector<std::string>> {
    RIDGE_ASSIGN(PassModel model, prepared(whole));
    std::set<std::string> tensors;
    for (const auto& [tensor, source] : find_sites(model, options).ranged) tensors.insert(source);
    return std::vector<std::string>(tensors.begin(), tensors.end());
  });
}

Result<PassReport> quantise_static(const model::WholeModel& whole, const TensorRanges& ranges,
                                   const QuantiseOptions& options, const std::string& out_file) {
  return model::guarded("quantise " + whole.path, [&] { return quantised(whole, ranges, options, out_file); });
}

}  // namespace ridge::precision
