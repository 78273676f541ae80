#include "catalogue/cloud_price.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::catalogue {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::array<std::string_view, 12> kPriceColumns = {"provider",  "instance", "region",           "gpu",
                                                            "gpu_count", "vcpus",    "mem_gib",          "usd_per_hour",
                                                            "date",      "notes",    "usd_per_gpu_hour", "source"};

Result<CloudPrice> price_from(const TableRow& row, std::span<const CatalogueDevice> devices) {
  CloudPrice price;
  price.provider = row.text("provider");
  price.instance = row.text("instance");
  price.region = row.text("region");
  price.gpu = row.text("gpu");
  RIDGE_ASSIGN(CatalogueDevice device, find_device(devices, price.gpu));
  price.device = device.name;
  price.gpus = row.whole("gpu_count").value_or(0);
  price.vcpus = row.whole("vcpus");
  price.memory_bytes = row.number("mem_gib", kGib);
  price.usd_per_hour = row.number("usd_per_hour").value_or(0);
  price.usd_per_gpu_hour = row.number("usd_per_gpu_hour").value_or(0);
  price.date = row.text("date");
  price.notes = row.text("notes");
  price.source = row.text("source");
  RIDGE_TRY(row.status());
  if (price.gpus < 1 || price.usd_per_hour <= 0 || price.usd_per_gpu_hour <= 0)
    return Error{Code::kInvalid, "table cloud_prices: " + price.provider + " " + price.instance + " has no price"};
  return price;
}

// "2023/2025" was recorded in 2023.
std::string year_of(const CloudPrice& price) { return price.date.substr(0, 4); }

}  // namespace

Result<std::vector<CloudPrice>> cloud_prices(std::span<const CatalogueDevice> devices) {
  RIDGE_ASSIGN(Table table, Table::read(data("cloud_prices"), "cloud_prices", kPriceColumns));
  std::vector<CloudPrice> prices;
  for (size_t i = 0; i < table.size(); ++i) {
    RIDGE_ASSIGN(CloudPrice price, price_from(table.row(i), devices));
    prices.push_back(std::move(price));
  }
  return prices;
}

std::vector<CloudPrice> prices_of(std::span<const CloudPrice> prices, const CatalogueDevice& device) {
  std::vector<CloudPrice> rows;
  for (const CloudPrice& price : prices)
    if (price.device == device.name) rows.push_back(price);
  std::stable_sort(rows.begin(), rows.end(), [](const CloudPrice& a, const CloudPrice& b) {
    return a.usd_per_gpu_hour != b.usd_per_gpu_hour ? a.usd_per_gpu_hour < b.usd_per_gpu_hour : a.date > b.date;
  });
  return rows;
}

std::optional<CloudPrice> price_of(std::span<const CloudPrice> prices, const CatalogueDevice& device) {
  std::vector<CloudPrice> rows = prices_of(prices, device);
  if (rows.empty()) return {};
  return *std::min_element(rows.begin(), rows.end(), [](const CloudPrice& a, const CloudPrice& b) {
    return year_of(a) != year_of(b) ? year_of(a) > year_of(b) : a.usd_per_gpu_hour < b.usd_per_gpu_hour;
  });
}

}  // namespace ridge::catalogue
