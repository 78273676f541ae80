// On-demand prices of devices per hour, from public lists: table data/cloud_prices.csv, every row with its
// source and date. Prices change; none is newer than its date. Immutable once read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "catalogue/catalogue.h"

namespace ridge::catalogue {

struct CloudPrice {
  std::string provider;  // "AWS"
  std::string instance;  // "g5.xlarge"
  std::string region;    // empty: unknown
  std::string gpu;       // as the table names it
  std::string device;    // name in the catalogue
  int gpus = 1;
  std::optional<int> vcpus;
  std::optional<double> memory_bytes;  // of the instance
  double usd_per_hour = 0;             // of the instance
  double usd_per_gpu_hour = 0;
  std::string date;  // of the list: "2026", "2026-03", "2023/2025": listed 2025, mostly recorded 2023
  std::string notes;
  std::string source;
};
void visit_fields(auto& visit, Is<CloudPrice> auto& price) {
  visit("provider", price.provider, Figure().column("provider"));
  visit("instance", price.instance, Figure().column("instance"));
  visit("region", price.region, Figure().column("region").leaves(2));
  visit("device", price.device, means("name in the catalogue"));
  visit("gpus", price.gpus, Figure().column("GPUs").leaves(1));
  visit("vcpus", price.vcpus);
  visit("memory_bytes", price.memory_bytes, means("of the instance"));
  visit("usd_per_hour", price.usd_per_hour, means("of the instance").in("USD"));
  visit("usd_per_gpu_hour", price.usd_per_gpu_hour, Figure().column("per GPU and hour").in("USD"));
  visit("date", price.date, means("of the list").column("date"));
  visit("notes", price.notes);
  visit("source", price.source);
}

// The embedded table; every row's device is one of `devices`. Errors: a row names none of them, or several.
Result<std::vector<CloudPrice>> cloud_prices(std::span<const CatalogueDevice> devices);

// The rows of one device, cheapest per GPU first; of equal ones the newer first.
std::vector<CloudPrice> prices_of(std::span<const CloudPrice> prices, const CatalogueDevice& device);

// The row with the lowest price per GPU among the newest lists (2026 before older ones); absent: no price is known.
std::optional<CloudPrice> price_of(std::span<const CloudPrice> prices, const CatalogueDevice& device);

}  // namespace ridge::catalogue
