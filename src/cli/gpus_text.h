// How the catalogue reads on a terminal and as CSV: values in, text out. Used by `ridge gpus`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hw/capability.h"
#include "hw/catalogue.h"
#include "hw/cloud_price.h"
#include "hw/peak_formula.h"
#include "plan/recommend.h"

namespace ridge::cli {

// All tables that the verb shows.
struct Catalogue {
  std::vector<hw::CatalogueDevice> devices;
  std::vector<hw::CloudPrice> prices;
  std::vector<hw::Capability> capabilities;
  hw::PeakTables peaks;
};

std::string list_text(const Catalogue& catalogue, std::span<const hw::CatalogueDevice> devices);
std::string list_csv(const Catalogue& catalogue, std::span<const hw::CatalogueDevice> devices);  // in base units

// One device: facts, peaks beside their formula and what others publish, prices, conflicts, sources. `explain`: the formulas
// with the numbers put in.
std::string sheet_text(const Catalogue& catalogue, const hw::CatalogueDevice& device, bool explain);
Json sheet_json(const Catalogue& catalogue, const hw::CatalogueDevice& device);

// Devices side by side, rates beside how many times the first one's they are.
std::string compare_text(const Catalogue& catalogue, std::span<const hw::CatalogueDevice> devices);

std::string families_text(std::span<const hw::CatalogueDevice> devices);
Json families_json(std::span<const hw::CatalogueDevice> devices);

std::string capabilities_text(const Catalogue& catalogue, std::span<const hw::Capability> capabilities);
std::string capabilities_csv(std::span<const hw::Capability> capabilities);

// The first `most` of the ranking (0: all), then how many were refused for what.
std::string recommendation_text(const plan::Recommendation& recommendation, size_t most);
std::string recommendation_csv(const plan::Recommendation& recommendation);

}  // namespace ridge::cli
