// Families: the devices of the catalogue by the name under which their vendor sells them ("GeForce RTX 40").
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "catalogue/catalogue.h"

namespace ridge::catalogue {

struct Family {
  std::string name, vendor;
  std::set<std::string> architectures;
  int first_year = 0, last_year = 0;  // 0: known of no device
  int devices = 0;
  double least_memory_bytes = 0, most_memory_bytes = 0;  // likewise
};
// For people: not read back.
void visit_fields(auto& visit, const Family& family) {
  visit("family", family.name, Figure().column("family"));
  visit("vendor", family.vendor, Figure().column("vendor").leaves(2));
  visit("architectures", family.architectures, Figure().column("architectures"));
  visit("first_year", family.first_year, means("0: known of no device").column("first year"));
  visit("last_year", family.last_year, Figure().column("last year"));
  visit("devices", family.devices, Figure().column("devices").leaves(1));
  visit("least_memory_bytes", family.least_memory_bytes, means("0: known of no device").column("least memory"));
  visit("most_memory_bytes", family.most_memory_bytes, Figure().column("most memory"));
}

// Order of the devices.
std::vector<Family> families_of(std::span<const CatalogueDevice> devices);

}  // namespace ridge::catalogue
