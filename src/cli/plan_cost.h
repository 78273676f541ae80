// ridge plan MODEL --cost: energy per inference, price per million, renting against owning. One form of `ridge plan`.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

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

struct Section;
struct Study;
Result<Section> cost_section(const Study& study);

}  // namespace ridge::cli
