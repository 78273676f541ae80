#include "precision/convert.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "model/guarded.h"
#include "precision/attributes.h"
#include "precision/batch_norm.h"
#include "precision/half.h"
#include "precision/half_forms.h"
#include "precision/pass_model.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

constexpr int64_t kBf16Opset = 22;      // the first in which Conv and pooling take BF16
constexpr int64_t kBf16CastOpset = 13;  // the first in which Cast takes BF16
constexpr double kMostLost = 0.01;      // share of a weight's values that may become 0

class Conversion {
 public:
  Conversion(PassModel& model, Precision precision, const ConvertOptions& options)
      : model_(model), precision_(precision), options_(options), name_(precision_name(precision)) {}

  Result<PassReport> run() {
    PassReport report;
    for (int i = 0; i < model_.graph().node_size(); ++i) RIDGE_TRY(consider(i, report));
    if (forms_.empty())
      return Error{Code::kUnsupported,
                   "no node can compute in " + name_ + " at opset " + std::to_string(model_.opset())};
    report.changed_nodes = static_cast<int>(forms_.size());
    find_wishes();
    for (const std::string& tensor : ordered_) settle(tensor);
    RIDGE_TRY(convert_constants());
    convert_ports();
    describe(report);
    return report;
  }

 private:
  // Producer and readers of an FP32 activation.
  struct TensorUses {
    bool made_half = false;
    bool wanted_fp32 = false;
    std::vector<Use> half_uses;
  };

  std::string half_name(const std::string& tensor) const { return tensor + "_" + name_; }
  int32_t half_type() const {
    return precision_ == Precision::kFp16 ? onnx::TensorProto::FLOAT16 : onnx::TensorProto::BFLOAT16;
  }

  bool is_fp32(const std::string& tensor) const { return !tensor.empty() && model_.type_of(tensor) == DataType::kFp32; }

  // ------------------------------------------------------------------------------------------------ which nodes

  Status consider(int index, PassReport& report) {
    const onnx::NodeProto& node = model_.node(index);
    std::vector<bool> inputs, outputs;
    for (const std::string& input : node.input()) inputs.push_back(is_fp32(input));
    for (const std::string& output : node.output()) outputs.push_back(is_fp32(output));
    if (std::count(outputs.begin(), outputs.end(), true) == 0) return {};
    const std::string& op = node.op_type();
    if (options_.keep_nodes.count(node.name()) > 0 || options_.keep_operators.count(op) > 0 ||
        default_keep_operators().count(op) > 0) {
      ++report.kept_nodes;
      return {};
    }
    std::optional<HalfForm> form = half_form(node, model_.opset(), precision_, inputs, outputs);
    if (!form) {
      if (std::count(inputs.begin(), inputs.end(), true) > 0) ++formless_[op];
      return {};
    }
    RIDGE_ASSIGN(const std::string reason, misfit(node, *form, report));
    if (reason.empty()) {
      forms_.emplace(index, std::move(*form));
    } else {
      ++report.kept_nodes;
      report.notes.push_back(fmt::format("{} stays in FP32: {}.", node.name(), reason));
    }
    return {};
  }

  // Why the node's constants cannot be 16 bits; empty if they can.
  Result<std::string> misfit(const onnx::NodeProto& node, const HalfForm& form, PassReport& report) {
    for (int slot = 0; slot < node.input_size(); ++slot) {
      const onnx::TensorProto* tensor = model_.constant(node.input(slot));
      if (!tensor || form.inputs[static_cast<size_t>(slot)] != Slot::kHalf) continue;
      RIDGE_ASSIGN(const HalfFit fit, fit_of_constant(*tensor));
      if (fit.too_large > 0)
        return fmt::format("'{}' has values up to {}, and {} ends at {}", tensor->name(), fit.largest, name_,
                           largest_half(precision_));
      if (static_cast<double>(fit.lost) > kMostLost * static_cast<double>(fit.nonzero))
        return fmt::format("{} of the {} values of '{}' would become 0", fit.lost, fit.nonzero, tensor->name());
      if (fit.near_infinite > 0)
        report.notes.push_back(fmt::format("'{}' has values that stand for infinity; in {} they are ±{}.",
                                           tensor->name(), name_, largest_half(precision_)));
    }
    return std::string();
  }

  Result<HalfFit> fit_of_constant(const onnx::TensorProto& tensor) {
    if (auto known = fits_.find(tensor.name()); known != fits_.end()) return known->second;
    RIDGE_ASSIGN(const std::vector<float> values, model_.values(tensor));
    return fits_[tensor.name()] = fit_of(values, precision_);
  }

  // ------------------------------------------------------------------------------------------------ activations

  static bool reads_any_type(const onnx::NodeProto& node) {
    return node.domain().empty() && (node.op_type() == "Shape" || node.op_type() == "Size");
  }

  TensorUses& uses_of(const std::string& tensor) {
    auto [entry, is_new] = uses_.try_emplace(tensor);
    if (is_new) {
      ordered_.push_back(tensor);
      const Wiring& wiring = model_.wiring();
      entry->second.wanted_fp32 =
          wiring.body_reads.count(tensor) > 0 || (options_.keep_io_types && wiring.outputs.count(tensor) > 0);
    }
    return entry->second;
  }

  void find_wishes() {
    if (!options_.keep_io_types)
      for (const auto& input : model_.graph().input())
        if (is_fp32(input.name())) uses_of(input.name()).made_half = true;
    for (int i = 0; i < model_.graph().node_size(); ++i) note_wishes(i);
  }

  void note_wishes(int index) {
    const onnx::NodeProto& node = model_.node(index);
    auto form = forms_.find(index);
    for (int slot = 0; slot < node.input_size(); ++slot) {
      const std::string& input = node.input(slot);
      if (!is_fp32(input) || model_.wiring().is_constant(input)) continue;
      const bool half = form != forms_.end() && form->second.inputs[static_cast<size_t>(slot)] == Slot::kHalf;
      if (half) {
        uses_of(input).half_uses.push_back({index, slot});
      } else if (!reads_any_type(node)) {
        uses_of(input).wanted_fp32 = true;
      }
    }
    if (form == forms_.end()) return;
    for (int slot = 0; slot < node.output_size(); ++slot)
      if (form->second.outputs[static_cast<size_t>(slot)] == Slot::kHalf) uses_of(node.output(slot)).made_half = true;
  }

  // Adds Casts where a tensor's producer and reader differ in type; the FP32 form keeps the name if there is one.
  void settle(const std::string& tensor) {
    const TensorUses& uses = uses_.at(tensor);
    if (uses.made_half && !uses.wanted_fp32) {
      halved_.insert(tensor);
      return;
    }
    if (!uses.made_half && uses.half_uses.empty()) return;
    const bool is_input = model_.wiring().producer.count(tensor) == 0;
    std::string half = half_name(tensor);
    if (uses.made_half && is_input) {
      // The 16-bit model input keeps its name; the FP32 form gets another.
      cast_input(tensor);
      return;
    }
    half = model_.unused_name(half);
    if (uses.made_half) {
      rename_output(model_.wiring().producer.at(tensor), tensor, half);
      add_cast(half, tensor, onnx::TensorProto::FLOAT);
    } else {
      add_cast(tensor, half, half_type());
    }
    for (const Use& use : uses.half_uses) model_.node(use.node).set_input(use.slot, half);
  }

  void cast_input(const std::string& tensor) {
    halved_.insert(tensor);
    const std::string real = model_.unused_name(tensor + "_fp32");
    const std::vector<Use>& half_uses = uses_.at(tensor).half_uses;
    for (const Use& use : model_.wiring().uses.at(tensor)) {
      const bool half = std::any_of(half_uses.begin(), half_uses.end(),
                                    [&](const Use& each) { return each.node == use.node && each.slot == use.slot; });
      if (!half && !reads_any_type(model_.node(use.node))) model_.node(use.node).set_input(use.slot, real);
    }
    add_cast(tensor, real, onnx::TensorProto::FLOAT);
  }

  void rename_output(int index, const std::string& from, const std::string& to) {
    for (std::string& output : *model_.node(index).mutable_output())
      if (output == from) output = to;
  }

  void add_cast(const std::string& from, const std::string& to, int32_t type) {
    set_integer(model_.add_node("Cast", to + "_Cast", {from}, to), "to", type);
  }

  // -------------------------------------------------------------------------------------------- constants and ports

  Status convert_constants() {
    std::map<std::string, std::string> made;
    for (const auto& [index, form] : forms_) {
      for (int slot = 0; slot < model_.node(index).input_size(); ++slot) {
        const std::string name = model_.node(index).input(slot);
        const onnx::TensorProto* tensor = model_.constant(name);
        if (!tensor || form.inputs[static_cast<size_t>(slot)] != Slot::kHalf) continue;
        auto [entry, is_new] = made.try_emplace(name);
        if (is_new) {
          RIDGE_ASSIGN(const std::vector<float> values, model_.values(*tensor));
          entry->second =
              model_.add_constant(half_name(name), half_type(), {tensor->dims().begin(), tensor->dims().end()},
                                  half_bytes(values, precision_));
        }
        model_.node(index).set_input(slot, entry->second);
      }
    }
    return {};
  }

  template <typename Values>
  void retype(Values& values) const {
    for (auto& value : values)
      if (halved_.count(value.name()) > 0) value.mutable_type()->mutable_tensor_type()->set_elem_type(half_type());
  }

  void convert_ports() {
    retype(*model_.graph().mutable_value_info());
    retype(*model_.graph().mutable_output());
    retype(*model_.graph().mutable_input());
  }

  void describe(PassReport& report) const {
    std::string text;
    for (const auto& [op, count] : formless_) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, op);
    if (!text.empty())
      report.notes.push_back(fmt::format("Without a {} form at opset {}, in FP32: {}.", name_, model_.opset(), text));
    for (const auto& [op, count] : formless_) report.kept_nodes += count;
  }

  PassModel& model_;
  Precision precision_;
  const ConvertOptions& options_;
  std::string name_;                     // "fp16" or "bf16"
  std::map<int, HalfForm> forms_;        // of the nodes that are converted
  std::map<std::string, int> formless_;  // count per operator
  std::map<std::string, HalfFit> fits_;
  std::map<std::string, TensorUses> uses_;
  std::vector<std::string> ordered_;  // keys of uses_, in order
  std::set<std::string> halved_;      // tensors whose name now denotes 16 bits
};

// store_weights() stores weights of at least this many values in 16 bits; smaller ones are negligible.
constexpr int64_t kLeastStored = 1024;

// Stores every large FP32 initialiser in 16 bits, and adds a Cast back to FP32 under its own name.
Result<PassReport> store_weights(PassModel& model, Precision precision) {
  PassReport report;
  std::set<std::string> replaced;
  const int count = model.graph().initializer_size();
  for (int i = 0; i < count; ++i) {
    const std::string name = model.graph().initializer(i).name();
    const onnx::TensorProto& tensor = *model.constant(name);
    const Shape shape(tensor.dims().begin(), tensor.dims().end());
    if (tensor.data_type() != onnx::TensorProto::FLOAT || element_count(shape).value_or(0) < kLeastStored) continue;
    RIDGE_ASSIGN(const std::vector<float> values, model.values(tensor));
    const HalfFit fit = fit_of(values, precision);
    if (fit.too_large > 0 || static_cast<double>(fit.lost) > kMostLost * static_cast<double>(fit.nonzero)) {
      report.notes.push_back(fmt::format("'{}' stays in FP32: {} values are too large, {} would become 0.", name,
                                         fit.too_large, fit.lost));
      continue;
    }
    const int32_t type = precision == Precision::kFp16 ? onnx::TensorProto::FLOAT16 : onnx::TensorProto::BFLOAT16;
    const std::string half = model.add_constant(name + "_" + std::string(precision_name(precision)), type, shape,
                                                half_bytes(values, precision));
    set_integer(model.add_node("Cast", name + "_Cast", {half}, name), "to", onnx::TensorProto::FLOAT);
    replaced.insert(name);
  }
  if (replaced.empty()) return Error{Code::kUnsupported, "no FP32 weights can be stored in 16 bits"};
  model.remove_constants(replaced);
  report.notes.push_back(fmt::format("{} weights are stored in 16 bits; the arithmetic is FP32.", replaced.size()));
  return report;
}

// Many operators support BF16 only in later opsets, so the model is raised to one of them where possible.
Result<PassModel> opened(const model::WholeModel& whole, Precision precision, std::vector<std::string>& notes) {
  if (precision == Precision::kFp16) return PassModel::open(whole);
  Result<PassModel> raised = PassModel::open(whole, kBf16Opset);
  if (raised || raised.error().code != Code::kUnsupported) return raised;
  notes.push_back(raised.error().message);
  return PassModel::open(whole);
}

Result<PassReport> convert_model(const model::WholeModel& whole, Precision precision, const ConvertOptions& options,
                                 const std::string& out_file) {
  if (precision != Precision::kFp16 && precision != Precision::kBf16)
    return Error{Code::kInvalid, "fp16 and bf16 are known, not " + std::string(precision_name(precision))};
  std::vector<std::string> notes;
  RIDGE_ASSIGN(PassModel model,
               options.weights_only ? PassModel::open(whole, kBf16CastOpset) : opened(whole, precision, notes));
  RIDGE_ASSIGN([[maybe_unused]] const int folded, fold_batch_norms(model));
  RIDGE_ASSIGN(PassReport report,
               options.weights_only ? store_weights(model, precision) : Conversion(model, precision, options).run());
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  RIDGE_ASSIGN(report.bytes, model.write(out_file));
  report.file = out_file;
  return report;
}

}  // namespace

const std::set<std::string>& default_keep_operators() {
  // Sums of squares leave FP16's range at 256²; running sums and positions need more than 11 bits.
  static const std::set<std::string> operators = {
      "CumSum",
      "GridSample",
      "InstanceNormalization",
      "LpNormalization",
      "NonMaxSuppression",
      "Pow",
      "Range",
      "ReduceL2",
      "ReduceLogSum",
      "ReduceLogSumExp",
      "ReduceProd",
      "ReduceSumSquare",
      "GroupNormalization",
      "RoiAlign",
      "Resize",
      "Upsample",
  };
  return operators;
}

Result<PassReport> convert(const model::WholeModel& whole, Precision precision, const ConvertOptions& options,
                           const std::string& out_file) {
  return model::guarded("convert " + whole.path, [&] { return convert_model(whole, precision, options, out_file); });
}

}  // namespace ridge::precision
