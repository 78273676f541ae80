// The NCHWc layout of ONNX Runtime's CPU provider (NchwcTransformer): convolutions and pools that can work on channels in
// blocks do so, what lies between them follows, additions and activations melt into the convolution before them, and
// ReorderInput and ReorderOutput stand where the layout changes.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "model/domains.h"
#include "predict/fusion_passes.h"

namespace ridge::predict {
namespace {

using model::kBlocked;
constexpr size_t kSumInput = 3;  // of a blocked convolution: what is added to its result

// The blocked form of a tensor.
struct Form {
  int tensor = -1;  // its twin in blocks
  int maker = -1;   // node
  int64_t channels = 0;
  int first_uses = 0;  // of the plain tensor, before any was redirected
  int uses_left = 0;   // that still want the plain layout
};

class Blocking {
 public:
  Blocking(Rewriter& graph, int64_t block) : graph_(graph), block_(block) {}

  void run() {
    for (int n : graph_.order())
      if (graph_.alive(n)) transform(n);
    for (auto& [plain, form] : forms_)
      if (form.uses_left > 0) reorder_output(plain, form);
  }

 private:
  void transform(int n) {
    const model::Node& node = graph_.node(n);
    if (!node.domain.empty() && node.op != "FusedConv" && node.op != "QuickGelu") return;
    if (node.op == "Conv" || node.op == "FusedConv") return convolution(n);
    if (node.op == "MaxPool" || node.op == "AveragePool") return pool(n);
    if (!has_form(node.inputs.empty() ? -1 : node.inputs[0])) return;
    if (node.op == "Add" || node.op == "Sum") return binary(n, true);
    if (node.op == "Mul") return binary(n, false);
    if (node.op == "Concat") return concatenation(n);
    if (node.op == "Relu" || node.op == "Sigmoid" || node.op == "Tanh" || node.op == "QuickGelu") return activation(n);
    if (node.op == "HardSigmoid" && hard_swish(n)) return;
    if (node.op == "HardSigmoid" || node.op == "HardSwish") return activation(n);
    if (node.op == "BatchNormalization") return normalisation(n);
    if (node.op == "Transpose") return transposition(n);
    if (node.op == "Upsample" || node.op == "Resize") return resize(n);
    if (node.op == "GlobalMaxPool" || node.op == "GlobalAveragePool") return pool(n);
  }

  bool has_form(int t) const { return forms_.contains(t); }
  int64_t aligned(int64_t channels) const { return (channels + block_ - 1) / block_ * block_; }
  bool whole_blocks(int64_t channels) const { return channels % block_ == 0; }
  bool is_float(int t) const { return graph_.tensor(t).type == DataType::kFp32; }

  // A tensor like `plain` whose channels fill blocks.
  int twin_of(int plain, int64_t channels) {
    model::TensorInfo info = graph_.tensor(plain);
    info.name += "/blocked";
    info.role = model::TensorRole::kActivation;
    if (info.shape && info.shape->size() == 4) (*info.shape)[1] = aligned(channels);
    return graph_.add_tensor(std::move(info), false);
  }

  int uses_of(int t) const { return static_cast<int>(graph_.users(t).size()) + (graph_.is_output(t) ? 1 : 0); }

  // `n` makes the blocked twin of its output from now on.
  void make_form(int n, int64_t channels) {
    const int plain = graph_.node(n).outputs[0];
    const int uses = uses_of(plain);
    const int twin = twin_of(plain, channels);
    graph_.take_output(n, twin);
    forms_[plain] = {twin, n, channels, uses, uses};
  }

  // `n` is gone; what it made is what the maker of `from` makes.
  void melt(int n, int from) {
    const int plain = graph_.node(n).outputs[0];
    Form form = forms_.at(from);
    form.first_uses = form.uses_left = uses_of(plain);
    graph_.remove(n);
    forms_[plain] = form;
  }

  // Input 0 of `n` in blocks: the twin, or reordered.
  void block_input(int n) {
    const int plain = graph_.node(n).inputs[0];
    if (auto found = forms_.find(plain); found != forms_.end()) {
      --found->second.uses_left;
      graph_.set_input(n, 0, found->second.tensor);
      return;
    }
    auto [entry, added] = reordered_.try_emplace(plain, -1);
    if (added) {
      const Shape* shape = graph_.shape(plain);
      entry->second = twin_of(plain, shape && shape->size() == 4 ? (*shape)[1] : block_);
      graph_.add_node({graph_.tensor(plain).name + "/ReorderInput",
                       "ReorderInput",
                       std::string(kBlocked),
                       {plain},
                       {entry->second},
                       {}});
    }
    graph_.set_input(n, 0, entry->second);
  }

  void reorder_output(int plain, const Form& form) {
    graph_.add_node({graph_.tensor(plain).name + "/ReorderOutput",
                     "ReorderOutput",
                     std::string(kBlocked),
                     {form.tensor},
                     {plain},
                     {{"channels", form.channels}}});
  }

  // Whether a convolution can work in blocks, and if so whether it takes its input in blocks too.
  enum class Fit { kNo, kPlainInput, kBlockedInput };
  Fit fit_of(const model::Node& node, const Shape& weight) const {
    const int64_t group = model::attribute_or<int64_t>(node, "group", 1);
    const int64_t out = weight[0], in = weight[1];
    if (group == 1) {
      return in < block_ ? Fit::kPlainInput : Fit::kBlockedInput;
    }
    if (in == 1 && out == group) return Fit::kBlockedInput;  // depthwise, padded to whole blocks
    if (!whole_blocks(out)) return Fit::kNo;
    const bool aligned_groups = whole_blocks(in) && out % group == 0 && whole_blocks(out / group);
    return aligned_groups ? Fit::kBlockedInput : Fit::kNo;
  }

  void convolution(int n) {
    const model::Node& node = graph_.node(n);
    const int weight = node.inputs.size() > 1 ? node.inputs[1] : -1;
    const Shape* shape = graph_.shape(weight);
    if (!graph_.constant(weight) || !is_float(weight) || shape == nullptr || shape->size() != 4) return;
    if (node.inputs.size() > 2 && node.inputs[2] >= 0 && !graph_.constant(node.inputs[2])) return;
    if (node.inputs.size() > kSumInput) return;
    const Fit fit = fit_of(node, *shape);
    if (fit == Fit::kNo) return;
    const int64_t channels = (*shape)[0];
    block_weight(n, *shape, fit);
    graph_.edit(n).op = "Conv";
    graph_.edit(n).domain = kBlocked;
    if (fit == Fit::kBlockedInput) block_input(n);
    make_form(n, channels);
  }

  // Channels that do not fill the last block are padded with zeros. Convolutions that share a weight share its blocked form.
  void block_weight(int n, Shape shape, Fit fit) {
    const int64_t group = model::attribute_or<int64_t>(graph_.node(n), "group", 1);
    const Shape whole = {aligned(shape[0]), group == 1 && fit == Fit::kBlockedInput ? aligned(shape[1]) : shape[1],
                         shape[2], shape[3]};
    if (shape[1] == 1 && group == shape[0]) graph_.edit(n).attributes["group"] = whole[0];
    const int weight = graph_.node(n).inputs[1];
    auto [form, added] = weights_.try_emplace(weight, -1);
    if (added) {
      model::TensorInfo info = graph_.tensor(weight);
      info.name += "/blocked";
      info.shape = whole;
      form->second = graph_.derive(weight, std::move(info), DerivedWeight::Form::kBlocked);
    }
    graph_.set_input(n, 1, form->second);
  }

  void pool(int n) {
    const model::Node& node = graph_.node(n);
    const Shape* shape = graph_.shape(node.inputs[0]);
    const bool indices = node.outputs.size() > 1 && node.outputs[1] >= 0;
    if (indices || shape == nullptr || shape->size() != 4 || !is_float(node.inputs[0])) return;
    const int64_t channels = (*shape)[1];
    if (!whole_blocks(channels)) return;
    graph_.edit(n).domain = kBlocked;
    block_input(n);
    make_form(n, channels);
  }

  bool same_shapes(const std::vector<int>& tensors) const {
    return std::all_of(tensors.begin(), tensors.end(), [&](int t) {
      return graph_.shape(t) != nullptr && *graph_.shape(t) == *graph_.shape(tensors[0]);
    });
  }

  void take_blocked_inputs(int n) {
    std::vector<int> inputs = graph_.node(n).inputs;
    for (int& t : inputs) {
      --forms_.at(t).uses_left;
      t = forms_.at(t).tensor;
    }
    graph_.set_inputs(n, std::move(inputs));
  }

  void binary(int n, bool addition) {
    const std::vector<int> inputs = graph_.node(n).inputs;
    if (!addition && inputs.size() == 2 && scales_channels(inputs[1], forms_.at(inputs[0]).channels))
      return scale(n, inputs[0]);
    if (!std::all_of(inputs.begin(), inputs.end(), [&](int t) { return has_form(t); }) || !same_shapes(inputs)) return;
    const int64_t channels = forms_.at(inputs[0]).channels;
    if (addition && inputs.size() == 2)
      for (size_t i : {size_t{0}, size_t{1}})
        if (takes_sum(inputs[i])) return add_inside(n, inputs[i], inputs[1 - i]);
    take_blocked_inputs(n);
    make_form(n, channels);
  }

  // A convolution whose only use is this one and that nothing was melted into yet.
  bool takes_sum(int t) const {
    const Form& form = forms_.at(t);
    const model::Node& maker = graph_.node(form.maker);
    return maker.op == "Conv" && maker.inputs.size() < kSumInput + 1 && form.first_uses == 1 &&
           !maker.attributes.contains("activation");
  }

  void add_inside(int n, int result, int other) {
    --forms_.at(result).uses_left;
    --forms_.at(other).uses_left;
    graph_.set_input(forms_.at(result).maker, kSumInput, forms_.at(other).tensor);
    melt(n, result);
  }

  void concatenation(int n) {
    const model::Node& node = graph_.node(n);
    if (model::attribute_or<int64_t>(node, "axis", 0) != 1) return;
    int64_t channels = 0;
    for (int t : node.inputs) {
      if (!has_form(t) || !whole_blocks(forms_.at(t).channels)) return;
      channels += forms_.at(t).channels;
    }
    take_blocked_inputs(n);
    make_form(n, channels);
  }

  void activation(int n) {
    const int input = graph_.node(n).inputs[0];
    Form& form = forms_.at(input);
    --form.uses_left;
    graph_.set_input(n, 0, form.tensor);
    const model::Node& maker = graph_.node(form.maker);
    const bool melts = graph_.node(n).op != "QuickGelu";
    if (melts && maker.op == "Conv" && form.first_uses == 1 && !maker.attributes.contains("activation")) {
      graph_.edit(form.maker).attributes["activation"] = graph_.node(n).op;
      melt(n, input);
    } else {
      make_form(n, form.channels);
    }
  }

  // x · hardsigmoid(x) after a convolution that nothing else uses is its activation.
  bool hard_swish(int n) {
    const int input = graph_.node(n).inputs[0];
    Form& form = forms_.at(input);
    const int product = graph_.only_user(graph_.node(n).outputs[0]);
    const model::Node& maker = graph_.node(form.maker);
    if (!graph_.is(product, "Mul") || maker.op != "Conv" || form.first_uses != 2) return false;
    const std::vector<int>& sides = graph_.node(product).inputs;
    if (std::find(sides.begin(), sides.end(), input) == sides.end() || maker.attributes.contains("activation"))
      return false;
    graph_.edit(form.maker).attributes["activation"] = std::string("HardSwish");
    form.uses_left = 0;
    graph_.remove(n);
    melt(product, input);
    return true;
  }

  // A constant with one value per channel, which broadcasts over the image.
  bool scales_channels(int t, int64_t channels) const {
    const Shape* shape = graph_.shape(t);
    if (!graph_.constant(t) || shape == nullptr || shape->size() < 3 || shape->size() > 4) return false;
    return (*shape)[shape->size() - 3] == channels && graph_.elements(t) == channels;
  }

  int constant_like(int n, const char* name, Shape shape) {
    return graph_.add_tensor(
        {graph_.node(n).name + name, DataType::kFp32, std::move(shape), model::TensorRole::kWeight, {}}, true);
  }

  // A scale per channel, and where `shift` also an offset, are done as a depthwise convolution of 1 × 1.
  void scale(int n, int input, bool shift = false) {
    const int64_t channels = forms_.at(input).channels;
    std::vector<int> inputs = {input, constant_like(n, "/scale", {aligned(channels), 1, 1, 1})};
    if (shift) inputs.push_back(constant_like(n, "/shift", {aligned(channels)}));
    graph_.set_inputs(n, std::move(inputs));
    graph_.edit(n).op = "Conv";
    graph_.edit(n).domain = kBlocked;
    graph_.edit(n).attributes = {{"group", aligned(channels)}};
    block_input(n);
    make_form(n, channels);
  }

  void normalisation(int n) {
    const std::vector<int> inputs = graph_.node(n).inputs;
    if (inputs.size() < 5 || !std::all_of(inputs.begin() + 1, inputs.end(), [&](int t) { return graph_.constant(t); }))
      return;
    scale(n, inputs[0], true);
  }

  // To channels last: the reordering does it.
  void transposition(int n) {
    const model::Node& node = graph_.node(n);
    if (model::attribute_or(node, "perm", std::vector<int64_t>()) != std::vector<int64_t>{0, 2, 3, 1}) return;
    const int64_t channels = forms_.at(node.inputs[0]).channels;
    block_input(n);
    graph_.edit(n).op = "ReorderOutput";
    graph_.edit(n).domain = kBlocked;
    graph_.edit(n).attributes = {{"channels", channels}, {"channels_last", int64_t{1}}};
  }

  // Whole factors, nearest neighbour by rounding down.
  void resize(int n) {
    const model::Node& node = graph_.node(n);
    if (model::attribute_or<std::string>(node, "mode", "nearest") != "nearest") return;
    const Shape *from = graph_.shape(node.inputs[0]), *to = graph_.shape(node.outputs[0]);
    if (from == nullptr || to == nullptr || from->size() != 4 || to->size() != 4) return;
    if (node.op == "Resize" && node.inputs.size() > 2) {
      const bool sizes = node.inputs.size() > 3;
      if (sizes || model::attribute_or<std::string>(node, "coordinate_transformation_mode", "") != "asymmetric" ||
          model::attribute_or<std::string>(node, "nearest_mode", "") != "floor")
        return;
    }
    std::vector<int64_t> scales;
    for (size_t i = 0; i < 4; ++i) {
      if ((*from)[i] == 0 || (*to)[i] % (*from)[i] != 0) return;
      scales.push_back((*to)[i] / (*from)[i]);
    }
    if (scales[0] != 1 || scales[1] != 1) return;
    const int64_t channels = forms_.at(node.inputs[0]).channels;
    graph_.set_inputs(n, {node.inputs[0]});
    block_input(n);
    graph_.edit(n).op = "Upsample";
    graph_.edit(n).domain = kBlocked;
    graph_.edit(n).attributes = {{"scales", scales}};
    make_form(n, channels);
  }

  Rewriter& graph_;
  int64_t block_;
  std::map<int, Form> forms_;     // by plain tensor
  std::map<int, int> reordered_;  // plain tensor → its blocked twin by ReorderInput
  std::map<int, int> weights_;    // plain weight → its blocked form
};

}  // namespace

void block_channels(Rewriter& graph, int64_t block) {
  if (block > 1) Blocking(graph, block).run();
}

}  // namespace ridge::predict
