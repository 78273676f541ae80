#include "catalogue/cloud_price.h"

#include <gtest/gtest.h>

namespace ridge::catalogue {
namespace {

struct Tables {
  std::vector<CatalogueDevice> devices;
  std::vector<CloudPrice> prices;
};

Tables tables() {
  Tables tables;
  auto devices = catalogue();
  EXPECT_TRUE(devices);
  tables.devices = *devices;
  auto prices = cloud_prices(tables.devices);
  EXPECT_TRUE(prices) << prices.error().message;
  if (prices) tables.prices = *prices;
  return tables;
}

TEST(CloudPrices, BelongEachToOneDeviceOfTheCatalogue) {
  Tables t = tables();
  EXPECT_EQ(t.prices.size(), 65u);
  for (const CloudPrice& price : t.prices) {
    EXPECT_TRUE(find_device(t.devices, price.device)) << price.gpu;
    EXPECT_FALSE(price.source.empty()) << price.instance;
    EXPECT_FALSE(price.date.empty()) << price.instance;
    EXPECT_NEAR(price.usd_per_gpu_hour, price.usd_per_hour / price.gpus, 0.01) << price.instance;
  }
}

TEST(CloudPrices, AreOfTheGpuThatTheRowNames) {
  Tables t = tables();
  auto device_of = [&](std::string_view instance) {
    for (const CloudPrice& price : t.prices)
      if (price.instance == instance) return price.device;
    return std::string("none");
  };
  EXPECT_EQ(device_of("g4dn.xlarge"), "Tesla T4");
  EXPECT_EQ(device_of("p2.xlarge"), "Tesla K80 (per GPU)");
  EXPECT_EQ(device_of("p4de.24xlarge"), "A100 SXM4 80GB");
  EXPECT_EQ(device_of("p6-b200.48xlarge"), "B200 SXM 180GB");
  EXPECT_EQ(device_of("gpu_1x_gh200"), "GH200 96GB (GPU)");
  EXPECT_EQ(device_of("NC6s_v3"), "Tesla V100 PCIe 16GB");
  EXPECT_EQ(device_of("1x RTX 4090"), "GeForce RTX 4090");
}

// p4d.24xlarge has two entries: 32.77 of the older list and 21.96 of 2026.
TEST(CloudPrices, PreferTheNewestListAndInItTheCheapest) {
  Tables t = tables();
  auto price = price_of(t.prices, *find_device(t.devices, "A100 SXM4 40GB"));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->date.substr(0, 4), "2026");
  EXPECT_EQ(price->instance, "gpu_1x_a100_sxm4");
  EXPECT_DOUBLE_EQ(price->usd_per_gpu_hour, 1.99);
  auto rows = prices_of(t.prices, *find_device(t.devices, "A100 SXM4 40GB"));
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i].usd_per_gpu_hour, rows[i - 1].usd_per_gpu_hour);
  EXPECT_FALSE(price_of(t.prices, *find_device(t.devices, "GeForce GTX 1080 Ti"))) << "no list names it";
}

}  // namespace
}  // namespace ridge::catalogue
