#include "serve/batch_bounds.h"

#include <algorithm>

namespace ridge::serve {
namespace {

bool is_sized(const model::GraphInput& input) {
  return std::all_of(input.spec.shape.begin(), input.spec.shape.end(), [](int64_t size) { return size >= 0; });
}

}  // namespace

double BatchBounds::of_rows(uint64_t rows) const {
  const auto [place, is_new] = known_.try_emplace(rows, 0);
  if (!is_new) return place->second;
  model::Binding binding;
  binding.batch = static_cast<int64_t>(rows);
  binding.insist_on_batch = false;
  const Result<model::Graph> graph = model_.bind(binding);
  if (graph && std::all_of(graph->input_specs.begin(), graph->input_specs.end(), is_sized))
    place->second = bound_(*graph, precision_);
  return place->second;
}

std::optional<uint64_t> BatchBounds::of(std::span<const BatchStatistic> batches) const {
  MutexLock lock(mutex_);
  double sum = 0;
  for (const BatchStatistic& batch : batches) {
    const double one = of_rows(batch.batch_size);
    if (one <= 0) return std::nullopt;
    sum += one * static_cast<double>(batch.compute_infer.count);
  }
  return static_cast<uint64_t>(sum * 1e9);
}

}  // namespace ridge::serve
