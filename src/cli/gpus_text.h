// The catalogue as text and CSV: values in, text out. Used by `ridge gpus`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalogue/capability.h"
#include "catalogue/catalogue.h"
#include "catalogue/cloud_price.h"
#include "catalogue/peak_formula.h"
#include "sizing/recommend.h"

namespace ridge::cli {

// All tables of the verb.
struct Catalogue {
  std::vector<catalogue::CatalogueDevice> devices;
  std::vector<catalogue::CloudPrice> prices;
  std::vector<catalogue::Capability> capabilities;
  catalogue::PeakTables peaks;
};

std::string list_text(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices);
std::string list_csv(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices);  // in base units

// One device: facts, peaks beside their formula and other published figures, prices, conflicts, sources. `explain`: the
// formulas with numbers.
std::string sheet_text(const Catalogue& catalogue, const catalogue::CatalogueDevice& device, bool explain);
Json sheet_json(const Catalogue& catalogue, const catalogue::CatalogueDevice& device);

// Devices side by side, rates with their ratio to the first one's.
std::string compare_text(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices);

std::string families_text(std::span<const catalogue::CatalogueDevice> devices);
Json families_json(std::span<const catalogue::CatalogueDevice> devices);

std::string capabilities_text(const Catalogue& catalogue, std::span<const catalogue::Capability> capabilities);
std::string capabilities_csv(std::span<const catalogue::Capability> capabilities);

// The ranking at a batch at which the first are not equal, as the document has it.
Json apart_json(const sizing::Recommendation& apart);
// The first `most` of the ranking (0: all), then the number rejected per reason.
std::string recommendation_text(const sizing::Recommendation& recommendation,
                                const std::optional<sizing::Recommendation>& apart, size_t most);
std::string recommendation_csv(const sizing::Recommendation& recommendation);

}  // namespace ridge::cli
