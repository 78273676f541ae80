// ridge plan … --cost: energy per row (or token), price per million, renting against owning. One form of `ridge plan`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sizing/capacity.h"

namespace CLI {
class App;
}

namespace ridge::cli {

struct CostOptions {
  bool cost = false;
  std::optional<double> power_w, load_factor, idle_factor, pue, kwh_usd, years, utilisation, staff_percent, rented,
      price_usd, hour_usd;
};
void declare(CLI::App& app, CostOptions& options);
bool wanted(const CostOptions& options);  // --cost, or any option of it

struct PlanDevice;
struct Section;
struct Study;

// What is priced: a device that runs something in one of several ways, of which the one with the most rows per second counts.
struct CostSubject {
  const CostOptions& options;
  const PlanDevice& device;
  std::string name;  // of the device
  int threads = 1;   // on this machine
  std::vector<sizing::Service> services;
  std::string unit = "row";  // what one row is called
};
Result<Section> cost_section(const CostSubject& subject);
Result<Section> cost_section(const Study& study);

}  // namespace ridge::cli
