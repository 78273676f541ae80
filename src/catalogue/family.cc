#include "catalogue/family.h"

#include <algorithm>

namespace ridge::catalogue {
namespace {

template <typename Number>
void widen(Number& least, Number& most, const std::optional<Number>& value) {
  if (!value) return;
  least = least == 0 ? *value : std::min(least, *value);
  most = std::max(most, *value);
}

}  // namespace

std::vector<Family> families_of(std::span<const CatalogueDevice> devices) {
  std::vector<Family> families;
  for (const CatalogueDevice& device : devices) {
    auto same = [&](const Family& family) { return family.vendor == device.vendor && family.name == device.family; };
    auto found = std::find_if(families.begin(), families.end(), same);
    if (found == families.end()) found = families.insert(families.end(), {device.family, device.vendor, {}});
    found->architectures.insert(device.architecture);
    ++found->devices;
    widen(found->first_year, found->last_year, device.year);
    widen(found->least_memory_bytes, found->most_memory_bytes, device.memory_bytes);
  }
  return families;
}

}  // namespace ridge::catalogue
