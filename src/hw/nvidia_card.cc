#include "hw/nvidia_card.h"

#include <fmt/format.h>

#include <vector>

#include "gpu/cuda.h"
#include "gpu/nvml.h"
#include "hw/accelerator/shares.h"

namespace ridge::hw {
namespace {

using accelerator::Facts;

Facts facts_of(const gpu::CudaDevice& card) {
  Facts facts;
  facts.name = card.name;
  if (card.capability > 0) facts.capability = fmt::format("{}.{}", card.capability / 10, card.capability % 10);
  facts.compute_units = card.multiprocessors;
  facts.memory_bytes = card.memory_bytes;
  facts.clock_hz = card.clock_hz;
  return facts;
}

Facts facts_of(const gpu::Card& card) {
  Facts facts;
  facts.name = card.name ? *card.name : card.failure;
  if (card.compute_capability) facts.capability = *card.compute_capability;
  if (card.memory_total_bytes) facts.memory_bytes = *card.memory_total_bytes;
  if (card.sm_clock_max_mhz) facts.clock_hz = 1e6 * static_cast<double>(*card.sm_clock_max_mhz);
  return facts;
}

Result<std::vector<Facts>> cards_here() {
  std::vector<Facts> cards;
  if (const Result<gpu::Cuda> cuda = gpu::Cuda::open()) {
    for (const gpu::CudaDevice& card : cuda->devices()) cards.push_back(facts_of(card));
    return cards;
  }
  RIDGE_ASSIGN(const gpu::Nvml nvml, gpu::Nvml::open());
  for (const gpu::Card& card : nvml.system().cards) cards.push_back(facts_of(card));
  return cards;
}

}  // namespace

Result<CatalogueDevice> nvidia_card(int index) {
  RIDGE_ASSIGN(const std::vector<Facts> cards, cards_here());
  if (index < 0 || static_cast<size_t>(index) >= cards.size()) {
    std::string names;
    for (const Facts& card : cards) names += (names.empty() ? "" : ", ") + card.name;
    return Error{Code::kNotFound, fmt::format("there is no card {}; there {} {}: {}", index,
                                              cards.size() == 1 ? "is" : "are", cards.size(), names)};
  }
  RIDGE_ASSIGN(const std::vector<CatalogueDevice> devices, catalogue());
  Result<CatalogueDevice> found = accelerator::datasheet_of(devices, cards[static_cast<size_t>(index)]);
  return found ? found : wrap(found.error(), fmt::format("the limits of card {}", index));
}

}  // namespace ridge::hw
