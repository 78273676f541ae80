// The catalogue as text and CSV: values in, text out. Used by `ridge gpus`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalogue/capability.h"
#include "catalogue/catalogue.h"
#include "catalogue/cloud_price.h"
#include "catalogue/family.h"
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

// Shares of the physical limit that measured kernels of language models reach, by the laws fitted to them.
struct KernelShare {
  std::string kernel, format;
  double percent = 0;
  bool compute_bound = false;
  double error_percent = 0;
};
void visit_fields(auto& visit, Is<KernelShare> auto& share) {
  visit("kernel", share.kernel, Figure().column("measured kernel"));
  visit("format", share.format, Figure().column("format"));
  visit("percent_of_limit", share.percent, Figure().column("of the limit"));
  visit.derived("limiter",
                Derived{std::string(share.compute_bound ? "compute" : "memory"), Figure().column("limiter")});
  visit("median_error_percent", share.error_percent, means("of the law").column("law's error"));
}

// One device, with what other tables say of it.
struct DeviceSheet {
  catalogue::CatalogueDevice device;
  std::vector<catalogue::PeakRow> peaks;
  std::vector<catalogue::Correction> corrections;
  std::vector<KernelShare> kernel_shares;  // empty: none was measured
  std::vector<catalogue::CloudPrice> prices;
  std::optional<catalogue::Capability> capability;
};
void visit_fields(auto& visit, Is<DeviceSheet> auto& sheet) {
  visit_fields(visit, sheet.device);
  visit("peaks", sheet.peaks, means("each beside its formula and other published figures"));
  visit("corrections", sheet.corrections, means("wrong figures that guides repeat"));
  visit("kernel_shares", sheet.kernel_shares,
        means("shares of the limit that measured kernels of language models reach, by the laws in "
              "data/kernel_laws.csv; empty where none was measured"));
  visit("prices", sheet.prices, means("in clouds"));
  visit("capability", sheet.capability, means("limits of the compute capability"));
}
DeviceSheet sheet_of(const Catalogue& catalogue, const catalogue::CatalogueDevice& device);

// Of a ranking at another batch the first devices.
struct RankedAt {
  struct Row {
    std::string device;
    predict::Range run_ms;
  };
  int64_t batch = 1;
  std::vector<Row> ranked;
};
void visit_fields(auto& visit, Is<RankedAt::Row> auto& row) {
  visit("device", row.device);
  visit("run_ms", row.run_ms);
}
void visit_fields(auto& visit, Is<RankedAt> auto& at) {
  visit("batch", at.batch);
  visit("ranked", at.ranked);
}
RankedAt ranked_at(const sizing::Recommendation& recommendation);

// The document of a recommendation.
struct RecommendedDevices {
  sizing::Recommendation result;
  std::optional<RankedAt> apart;
  std::string model;
};
void visit_fields(auto& visit, Is<RecommendedDevices> auto& of) {
  visit_fields(visit, of.result);
  visit.unless_empty("apart", of.apart,
                     means("with `tie`: the first 20 at the least larger batch at which they are not equal"));
  visit("model", of.model);
}

std::string list_text(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices);
std::string list_csv(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices);  // in base units

// One device: facts, peaks beside their formula and other published figures, prices, conflicts, sources. `explain`: the
// formulas with numbers.
std::string sheet_text(const Catalogue& catalogue, const DeviceSheet& sheet, bool explain);

// Devices side by side, rates with their ratio to the first one's.
std::string compare_text(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices);

std::string families_text(const std::vector<catalogue::Family>& families);

std::string capabilities_text(const Catalogue& catalogue, std::span<const catalogue::Capability> capabilities);
std::string capabilities_csv(std::span<const catalogue::Capability> capabilities);

// The first `most` of the ranking (0: all), then the number rejected per reason.
std::string recommendation_text(const RecommendedDevices& devices, size_t most);
std::string recommendation_csv(const sizing::Recommendation& recommendation);

}  // namespace ridge::cli
