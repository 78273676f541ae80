#include "limits/nvidia_card.h"

#include <fmt/format.h>

#include <vector>

#include "gpu/cuda/cuda.h"
#include "gpu/nvml/nvml.h"
#include "limits/accelerator/cuda_accelerator.h"
#include "limits/accelerator/shares.h"
#include "limits/accelerator/store.h"

namespace ridge::limits {
namespace {

struct LocalCard {
  accelerator::Facts facts;
  std::string problem;  // why nothing can be told of it; empty: it is in order
};

LocalCard local_by_nvml(const gpu::Card& card) {
  LocalCard local{{}, card.failure};
  local.facts.dialect = limits::accelerator::Dialect::kCuda;
  if (card.uuid) local.facts.uuid = *card.uuid;
  if (card.pci_address) local.facts.pci_address = *card.pci_address;
  if (card.name) local.facts.name = *card.name;
  if (card.compute_capability) local.facts.capability = *card.compute_capability;
  if (card.memory_total_bytes) local.facts.memory_bytes = *card.memory_total_bytes;
  return local;
}

Result<std::vector<LocalCard>> local_cards() {
  std::vector<LocalCard> all;
  if (const Result<gpu::cuda::Cuda> cuda = gpu::cuda::Cuda::open()) {
    for (accelerator::Facts& facts : accelerator::facts_of(*cuda))
      all.push_back({std::move(facts), cuda->devices()[all.size()].problem});
    return all;
  }
  RIDGE_ASSIGN(const gpu::nvml::Nvml nvml, gpu::nvml::Nvml::open());
  for (const gpu::Card& card : nvml.system().cards) all.push_back(local_by_nvml(card));
  return all;
}

std::string names_of(const std::vector<LocalCard>& all) {
  std::string names;
  for (const LocalCard& card : all)
    names += (names.empty() ? "" : ", ") + (card.problem.empty() ? card.facts.name : card.problem);
  return names;
}

}  // namespace

Result<accelerator::Facts> nvidia_card_facts(int index) {
  RIDGE_ASSIGN(const std::vector<LocalCard> all, local_cards());
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return Error{Code::kNotFound, fmt::format("there is no card {}; there {} {}: {}", index,
                                              all.size() == 1 ? "is" : "are", all.size(), names_of(all))};
  const LocalCard& card = all[static_cast<size_t>(index)];
  if (!card.problem.empty()) return Error{Code::kUnavailable, card.problem};
  return card.facts;
}

Result<NvidiaCard> nvidia_card(int index, const std::string& cache_file) {
  NvidiaCard card;
  card.index = index;
  RIDGE_ASSIGN(card.facts, nvidia_card_facts(index));
  RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  if (Result<catalogue::CatalogueDevice> found = limits::accelerator::datasheet_of(devices, card.facts))
    card.datasheet = std::move(*found);
  else
    card.datasheet_reason = found.error().message;
  limits::accelerator::Recalled kept =
      accelerator::recall(card.facts, limits::accelerator::setting_now(card.facts), cache_file);
  card.measured = std::move(kept.measured);
  card.measured_reason = std::move(kept.reason);
  return card;
}

}  // namespace ridge::limits
