#include "precision/sites.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "cost/operators.h"
#include "precision/attributes.h"

namespace ridge::precision {
namespace {

using cost::Integers;

// Cubic interpolation overshoots, and a crop fills the area outside the image with its own value.
bool leaves_range(const onnx::NodeProto& resize) {
  return string_attribute(resize, "mode", "nearest") == "cubic" ||
         string_attribute(resize, "coordinate_transformation_mode", "") == "tf_crop_and_resize";
}

Integers follower_of(const onnx::NodeProto& node, const QuantiseOptions& options) {
  if (!node.domain().empty()) return Integers::kNotInIntegers;
  if (!options.operators.empty() && options.operators.count(node.op_type()) == 0) return Integers::kNotInIntegers;
  if (node.op_type() == "MaxPool" && node.output_size() > 1) return Integers::kNotInIntegers;  // indices
  if (node.op_type() == "Resize" && leaves_range(node)) return Integers::kNotInIntegers;
  const auto& outputs = node.output();
  if (std::find(outputs.begin(), outputs.end(), "") != outputs.end()) return Integers::kNotInIntegers;
  return cost::operator_of("", node.op_type()).integers;
}

class Finder {
 public:
  Finder(PassModel& model, const QuantiseOptions& options, const std::set<int>& excluded)
      : model_(model), options_(options), excluded_(excluded) {}

  Sites find() {
    find_heavy();
    find_candidates();
    drop_unread();
    collect();
    return std::move(sites_);
  }

 private:
  bool is_excluded(int node) const {
    return excluded_.count(node) > 0 || options_.keep_nodes.count(model_.node(node).name()) > 0;
  }

  // The Relu or Clip that is this tensor's only reader; -1 if there is none. An engine fuses it with its producer.
  int fused_after(const std::string& tensor) const {
    const Wiring& wiring = model_.wiring();
    if (wiring.uses_of(tensor) != 1 || wiring.is_fixed(tensor)) return -1;
    const Use use = wiring.uses.at(tensor)[0];
    const onnx::NodeProto& node = model_.node(use.node);
    const bool clips = cost::operator_of("", node.op_type()).is(cost::Trait::kClips) && bounds_are_constant(node);
    return use.slot == 0 && node.domain().empty() && clips ? use.node : -1;
  }

  bool bounds_are_constant(const onnx::NodeProto& clip) const {
    for (int slot = 1; slot < clip.input_size(); ++slot)
      if (!clip.input(slot).empty() && !model_.wiring().is_constant(clip.input(slot))) return false;
    return true;
  }

  void fuse_output(Site& site) {
    if (site.outputs.size() != 1) return;
    const int activation = fused_after(site.outputs[0]);
    if (activation < 0) return;
    sites_.fused.insert(activation);
    site.outputs[0] = model_.node(activation).output(0);
  }

  void find_heavy() {
    for (int i = 0; i < model_.graph().node_size(); ++i) {
      std::optional<Site> site = heavy_site(model_, i, options_);
      if (!site) continue;
      if (is_excluded(i)) {
        sites_.kept.push_back(i);
        continue;
      }
      fuse_output(*site);
      available_.insert(site->outputs[0]);
      for (int slot : site->activations) {
        available_.insert(model_.node(i).input(slot));
        read_.insert(model_.node(i).input(slot));
      }
      candidates_.emplace(i, std::move(*site));
    }
  }

  // Activations of a follower; empty if one of them is not quantised already.
  std::vector<int> available_inputs(const onnx::NodeProto& node, Integers kind) const {
    std::vector<int> slots;
    const int count = kind == Integers::kCombinesInts ? node.input_size() : std::min(node.input_size(), 1);
    for (int slot = 0; slot < count; ++slot) {
      if (available_.count(node.input(slot)) == 0) return {};
      slots.push_back(slot);
    }
    return slots;
  }

  void find_candidates() {
    for (int i = 0; i < model_.graph().node_size(); ++i) {
      const onnx::NodeProto& node = model_.node(i);
      const Integers kind = follower_of(node, options_);
      if (kind == Integers::kNotInIntegers || sites_.fused.count(i) > 0 || candidates_.count(i) > 0 || is_excluded(i))
        continue;
      Site site;
      site.node = i;
      site.activations = available_inputs(node, kind);
      if (site.activations.empty()) continue;
      site.outputs.assign(node.output().begin(), node.output().end());
      site.quantises_output = true;
      if (kind != Integers::kMovesInts) fuse_output(site);
      if (kind == Integers::kMovesInts) movers_.insert(i);
      available_.insert(site.outputs.begin(), site.outputs.end());
      candidates_.emplace(i, std::move(site));
    }
  }

  // Works from the end: a follower whose quantised output is never read stays in floating point.
  void drop_unread() {
    for (auto entry = candidates_.end(); entry != candidates_.begin();) {
      --entry;
      const Site& site = entry->second;
      const bool is_read = std::any_of(site.outputs.begin(), site.outputs.end(),
                                       [&](const std::string& output) { return read_.count(output) > 0; });
      if (site.heavy || is_read) {
        for (int slot : site.activations) read_.insert(model_.node(site.node).input(slot));
      } else {
        const onnx::NodeProto& node = model_.node(site.node);
        if (site.outputs.size() == 1 && site.outputs[0] != node.output(0)) {
          sites_.fused.erase(model_.wiring().producer.at(site.outputs[0]));
        }
        movers_.erase(site.node);
        entry = candidates_.erase(entry);
      }
    }
  }

  // MatMul and Gemm have integer output unless floating point is needed.
  bool is_read_only_quantised(const std::string& output) const {
    if (read_.count(output) == 0 || model_.wiring().is_fixed(output)) return false;
    const auto& uses = model_.wiring().uses.at(output);
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      auto site = candidates_.find(use.node);
      if (site == candidates_.end()) return false;
      const std::vector<int>& slots = site->second.activations;
      return std::find(slots.begin(), slots.end(), use.slot) != slots.end();
    });
  }

  // The earliest tensor with the same values in another shape or order.
  std::string origin_of(std::string tensor) const {
    const Wiring& wiring = model_.wiring();
    for (auto made = wiring.producer.find(tensor); made != wiring.producer.end(); made = wiring.producer.find(tensor)) {
      const onnx::NodeProto& node = model_.node(made->second);
      if (!node.domain().empty() || !cost::operator_of("", node.op_type()).rearranges() ||
          wiring.is_constant(node.input(0)))
        break;
      tensor = node.input(0);
    }
    return tensor;
  }

  void collect() {
    for (auto& [index, site] : candidates_) {
      for (int slot : site.activations) {
        const std::string& input = model_.node(index).input(slot);
        sites_.ranged.emplace(input, origin_of(input));
      }
      if (site.heavy && !site.quantises_output) site.quantises_output = is_read_only_quantised(site.outputs[0]);
      if (site.quantises_output) {
        for (const std::string& output : site.outputs) {
          const bool moves = movers_.count(index) > 0;
          sites_.ranged[output] = moves ? sites_.ranged.at(model_.node(index).input(0)) : output;
        }
      }
      sites_.all.push_back(std::move(site));
    }
  }

  PassModel& model_;
  const QuantiseOptions& options_;
  const std::set<int>& excluded_;
  Sites sites_;
  std::map<int, Site> candidates_;  // by node, so in topological order
  std::set<int> movers_;
  std::set<std::string> available_;  // tensors that are, or could be, quantised
  std::set<std::string> read_;       // tensors that are needed quantised
};

}  // namespace

Sites find_sites(PassModel& model, const QuantiseOptions& options, const std::set<int>& excluded) {
  return Finder(model, options, excluded).find();
}

}  // namespace ridge::precision
