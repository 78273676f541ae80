#include "catalogue/family.h"

#include <gtest/gtest.h>

namespace ridge::catalogue {
namespace {

CatalogueDevice device_of(const std::string& vendor, const std::string& family, const std::string& architecture,
                          std::optional<int> year, std::optional<double> memory_bytes) {
  CatalogueDevice device;
  device.vendor = vendor;
  device.family = family;
  device.architecture = architecture;
  device.year = year;
  device.memory_bytes = memory_bytes;
  return device;
}

TEST(Families, SpanWhatIsKnownOfTheirDevices) {
  const std::vector<CatalogueDevice> devices = {
      device_of("NVIDIA", "Data Center", "Volta", 2017, 16e9), device_of("AMD", "Data Center", "CDNA", {}, {}),
      device_of("NVIDIA", "Data Center", "Kepler", 2012, 5e9), device_of("NVIDIA", "Data Center", "Volta", {}, 32e9)};
  const std::vector<Family> families = families_of(devices);
  ASSERT_EQ(families.size(), 2U) << "two vendors may use one name";
  const Family& first = families[0];
  EXPECT_EQ(first.vendor, "NVIDIA");
  EXPECT_EQ(first.devices, 3);
  EXPECT_EQ(first.architectures, (std::set<std::string>{"Kepler", "Volta"}));
  EXPECT_EQ(first.first_year, 2012);
  EXPECT_EQ(first.last_year, 2017);
  EXPECT_DOUBLE_EQ(first.least_memory_bytes, 5e9);
  EXPECT_DOUBLE_EQ(first.most_memory_bytes, 32e9);
  EXPECT_EQ(families[1].vendor, "AMD");
  EXPECT_EQ(families[1].last_year, 0);
  EXPECT_DOUBLE_EQ(families[1].most_memory_bytes, 0);
}

TEST(Families, AreAllDevicesOfTheCatalogue) {
  const auto devices = catalogue();
  ASSERT_TRUE(devices);
  size_t count = 0;
  for (const Family& family : families_of(*devices)) {
    EXPECT_LE(family.first_year, family.last_year) << family.name;
    EXPECT_LE(family.least_memory_bytes, family.most_memory_bytes) << family.name;
    count += static_cast<size_t>(family.devices);
  }
  EXPECT_EQ(count, devices->size());
}

}  // namespace
}  // namespace ridge::catalogue
