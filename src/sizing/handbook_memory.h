// Training memory by the handbook's formula, for comparison with the graph, and where the handbook's own figures differ from
// the graph and why. Handbook, section 2 (E 2.1.3, E 2.2.2). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/graph.h"
#include "sizing/training.h"

namespace ridge::sizing {

// The sizes in the formula: B rows, L positions, H wide, N_l layers.
struct TransformerSizes {
  double length = 0, hidden = 0, layers = 0;
};
// From the graph's attention: a Softmax with input rank 4 (batch, head, position, position) is a layer, its width the most
// common input width of the linear layers. Absent without attention.
std::optional<TransformerSizes> transformer_sizes(const model::Graph& graph);

struct HandbookMemory {
  double parameters = 0, gradients = 0, optimiser = 0;
  std::optional<double> activations;  // absent: the formula has no terms for such a model
  double total() const { return parameters + gradients + optimiser + activations.value_or(0); }
};
// P·b_p + P·b_g + 2P·b_opt + B·L·H·N_l·b_a; every b of one precision (the handbook's examples: FP32 4, FP16 2).
HandbookMemory handbook_memory(double parameters, double bytes, double batch,
                               const std::optional<TransformerSizes>& sizes);

// The handbook's table for ResNet-50 in FP32 has 10 MB of activations per image (E 2.2.2).
inline constexpr double kHandbookResnet50ActivationBytes = 10 * 1048576.0;
bool is_resnet50(double parameters, const model::Graph& graph);

// The handbook's side for this model and setup, and sentences on the differences.
struct HandbookComparison {
  HandbookMemory memory;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<HandbookComparison> auto& comparison) {
  visit("parameters", comparison.memory.parameters);
  visit("gradients", comparison.memory.gradients);
  visit("optimiser", comparison.memory.optimiser);
  visit.derived("total", comparison.memory.total());
  visit("notes", comparison.notes);
  visit("activations", comparison.memory.activations);
}
HandbookComparison compare_with_handbook(const model::Graph& graph, const TrainingProfile& profile,
                                         const TrainingSetup& setup, const TrainingMemory& memory);

}  // namespace ridge::sizing
