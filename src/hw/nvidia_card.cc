#include "hw/nvidia_card.h"

#include <fmt/format.h>

#include <vector>

#include "gpu/cuda.h"
#include "gpu/nvml.h"
#include "hw/accelerator/cuda_accelerator.h"
#include "hw/accelerator/shares.h"
#include "hw/accelerator/store.h"

namespace ridge::hw {
namespace {

using accelerator::Facts;

Result<std::vector<Facts>> card_facts() {
  if (const Result<gpu::Cuda> cuda = gpu::Cuda::open()) return accelerator::facts_of(*cuda);
  std::vector<Facts> all;
  RIDGE_ASSIGN(const gpu::Nvml nvml, gpu::Nvml::open());
  for (const gpu::Card& card : nvml.system().cards) {
    Facts facts;
    facts.name = card.name ? *card.name : card.failure;
    if (card.compute_capability) facts.capability = *card.compute_capability;
    if (card.uuid) facts.uuid = *card.uuid;
    if (card.pci_address) facts.pci_address = *card.pci_address;
    facts.dialect = accelerator::Dialect::kCuda;
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

Result<accelerator::Facts> nvidia_card_facts(int index) {
  RIDGE_ASSIGN(const std::vector<Facts> all, card_facts());
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return Error{Code::kNotFound, fmt::format("there is no card {}; there {} {}: {}", index,
                                              all.size() == 1 ? "is" : "are", all.size(), names_of(all))};
  return all[static_cast<size_t>(index)];
}

Result<NvidiaCard> nvidia_card(int index, const std::string& cache_file) {
  NvidiaCard card;
  card.index = index;
  RIDGE_ASSIGN(card.facts, nvidia_card_facts(index));
  RIDGE_ASSIGN(const std::vector<CatalogueDevice> devices, catalogue());
  if (Result<CatalogueDevice> found = accelerator::datasheet_of(devices, card.facts))
    card.datasheet = std::move(*found);
  else
    card.datasheet_reason = found.error().message;
  accelerator::Recalled kept = accelerator::recall(card.facts, accelerator::setting_now(card.facts), cache_file);
  card.measured = std::move(kept.measured);
  card.measured_reason = std::move(kept.reason);
  return card;
}

}  // namespace ridge::hw
