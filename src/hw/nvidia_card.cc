#include "hw/nvidia_card.h"

#include <fmt/format.h>

#include <vector>

#include "gpu/cuda.h"
#include "gpu/nvml.h"
#include "hw/accelerator/cuda_accelerator.h"
#include "hw/accelerator/shares.h"

namespace ridge::hw {
namespace {

using accelerator::Facts;

Result<std::vector<Facts>> card_facts() {
  std::vector<Facts> all;
  if (const Result<gpu::Cuda> cuda = gpu::Cuda::open()) {
    for (const gpu::CudaDevice& card : cuda->devices()) all.push_back(accelerator::facts_of(card, all.size()));
    return all;
  }
  RIDGE_ASSIGN(const gpu::Nvml nvml, gpu::Nvml::open());
  for (const gpu::Card& card : nvml.system().cards) {
    Facts facts;
    facts.name = card.name ? *card.name : card.failure;
    if (card.compute_capability) facts.capability = *card.compute_capability;
    if (card.memory_total_bytes) facts.memory_bytes = *card.memory_total_bytes;
    all.push_back(std::move(facts));
  }
  return all;
}

std::string names_of(const std::vector<Facts>& all) {
  std::string names;
  for (const Facts& facts : all) names += (names.empty() ? "" : ", ") + facts.name;
  return names;
}

}  // namespace

Result<CatalogueDevice> nvidia_card(int index) {
  RIDGE_ASSIGN(const std::vector<Facts> all, card_facts());
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return Error{Code::kNotFound, fmt::format("there is no card {}; there {} {}: {}", index,
                                              all.size() == 1 ? "is" : "are", all.size(), names_of(all))};
  RIDGE_ASSIGN(const std::vector<CatalogueDevice> devices, catalogue());
  Result<CatalogueDevice> found = accelerator::datasheet_of(devices, all[static_cast<size_t>(index)]);
  return found ? found : wrap(found.error(), fmt::format("the limits of card {}", index));
}

}  // namespace ridge::hw
