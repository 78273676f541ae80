#include "hw/nvidia_card.h"

#include <fmt/format.h>

#include <vector>

#include "gpu/cuda.h"
#include "gpu/nvml.h"

namespace ridge::hw {
namespace {

Result<std::vector<std::string>> card_names() {
  std::vector<std::string> names;
  if (const Result<gpu::Cuda> cuda = gpu::Cuda::open()) {
    for (const gpu::CudaDevice& card : cuda->devices()) names.push_back(card.name);
    return names;
  }
  RIDGE_ASSIGN(const gpu::Nvml nvml, gpu::Nvml::open());
  for (const gpu::Card& card : nvml.system().cards) names.push_back(card.name ? *card.name : card.failure);
  return names;
}

}  // namespace

Result<CatalogueDevice> nvidia_card(int index) {
  RIDGE_ASSIGN(const std::vector<std::string> names, card_names());
  if (index < 0 || static_cast<size_t>(index) >= names.size())
    return Error{Code::kNotFound, fmt::format("there is no card {}; there {} {}: {}", index,
                                              names.size() == 1 ? "is" : "are", names.size(), fmt::join(names, ", "))};
  RIDGE_ASSIGN(const std::vector<CatalogueDevice> devices, catalogue());
  Result<CatalogueDevice> found = find_device(devices, names[static_cast<size_t>(index)]);
  return found ? found : wrap(found.error(), fmt::format("the limits of card {}", index));
}

}  // namespace ridge::hw
