#include "catalogue/catalogue.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/csv.h"
#include "catalogue/data.h"

namespace ridge::catalogue {
namespace {

std::vector<CatalogueDevice> all_devices() {
  auto devices = catalogue();
  EXPECT_TRUE(devices) << devices.error().message;
  return devices ? *devices : std::vector<CatalogueDevice>{};
}

CatalogueDevice named(const std::string& name) {
  auto device = find_device(all_devices(), name);
  EXPECT_TRUE(device) << device.error().message;
  return device ? *device : CatalogueDevice{};
}

TEST(Catalogue, ReadsEveryRowWithNameVendorAndSource) {
  auto csv = parse_csv(data("gpus"), "gpus");
  ASSERT_TRUE(csv);
  std::set<std::string> names;
  for (const CatalogueDevice& device : all_devices()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name << " occurs twice";
    EXPECT_FALSE(device.source.empty()) << device.name;
  }
  EXPECT_EQ(names.size(), csv->rows.size());
  EXPECT_GE(names.size(), 239u);
}

TEST(Catalogue, HasBaseUnits) {
  CatalogueDevice device = named("GeForce RTX 4090");
  EXPECT_EQ(device.cores, 16384);
  EXPECT_EQ(device.multiprocessors, 128);
  EXPECT_DOUBLE_EQ(*device.boost_hz, 2.52e9);
  EXPECT_DOUBLE_EQ(*device.memory_bytes, 24.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(*device.bytes_per_s, 1008e9);
  EXPECT_DOUBLE_EQ(*device.l2_bytes, 72.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(peak(device, Precision::kFp32)->flops_per_s, 82.58e12);
  EXPECT_EQ(peak(device, Precision::kFp32)->origin, Origin::kDerived);
  EXPECT_EQ(peak(named("L4"), Precision::kFp16)->origin, Origin::kDatasheet);
}

// Where other tables copied a sister's figure, a vector rate, or the capacity on the box.
TEST(Catalogue, HasWhatDatasheetsAndDriversSay) {
  EXPECT_DOUBLE_EQ(*named("RTX PRO 6000 Blackwell Server").bytes_per_s, 1597e9);
  EXPECT_DOUBLE_EQ(*named("RTX PRO 6000 Blackwell Workstation").bytes_per_s, 1792e9);
  EXPECT_NEAR(peak(named("Radeon RX 9070 XT"), Precision::kFp16)->flops_per_s, 194.6e12, 0.1e12);
  EXPECT_NEAR(peak(named("Radeon RX 9070 XT"), Precision::kFp8)->flops_per_s, 389.3e12, 0.1e12);
  EXPECT_FALSE(peak(named("GB10 (DGX Spark)"), Precision::kFp16)) << "its vector rate is none of matrices";
  const double mib = 1024.0 * 1024;
  for (const auto& [name, reported] : {std::pair{"A10", 23028}, {"A10G", 23028}, {"L4", 23034}, {"Tesla T4", 15360}})
    EXPECT_NEAR(*named(name).memory_bytes, reported * mib, mib) << name;
  EXPECT_DOUBLE_EQ(peak(named("H200 NVL 141GB"), Precision::kBf16)->flops_per_s, 835.5e12);
}

TEST(Catalogue, KeepsABlankFieldAbsent) {
  CatalogueDevice device = named("Tesla K80 (per GPU)");
  EXPECT_FALSE(device.tensor_cores);
  EXPECT_FALSE(peak(device, Precision::kFp16));
  EXPECT_FALSE(device.mig_instances);
  EXPECT_TRUE(json_of(device)["tensor_cores"].is_null());
  for (const CatalogueDevice& each : all_devices())
    for (const CataloguePeak& peak : each.peaks) EXPECT_GT(peak.flops_per_s, 0) << each.name;
}

TEST(Catalogue, SharesABoardsPowerAmongItsGpus) {
  EXPECT_DOUBLE_EQ(*power_per_gpu_w(named("Tesla K80 (per GPU)")), 150);
  EXPECT_DOUBLE_EQ(*power_per_gpu_w(named("GeForce RTX 4090")), 450);
  for (const CatalogueDevice& device : all_devices())
    EXPECT_EQ(device.gpus_on_board > 1, device.name.find("(per GPU)") != std::string::npos &&
                                            device.notes.find("board carries") != std::string::npos)
        << device.name;
}

// Handbook, section 2: 83 TFLOPS / 1008 GB/s ≈ 82 FLOP/byte.
TEST(Catalogue, RidgePointIsPeakOverBandwidth) {
  EXPECT_NEAR(*ridge_point(named("RTX 4090"), Precision::kFp32), 81.9, 0.1);
  EXPECT_FALSE(ridge_point(named("M2 Pro"), Precision::kFp32)) << "its bandwidth has no source";
}

TEST(Catalogue, RefusesANumberThatIsNone) {
  std::string text(data("gpus"));
  size_t at = text.find(",16384,");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 7, ",many,");
  auto read = catalogue_from(text);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("cuda_cores is 'many'"), std::string::npos) << read.error().message;
}

TEST(Catalogue, RefusesATableWithoutAColumn) {
  auto read = catalogue_from("vendor,name\nNVIDIA,X\n");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("has no column"), std::string::npos);
}

TEST(DeviceFilter, AsksForAllOfItsMembersAndRefusesWhatIsNotSourced) {
  CatalogueDevice device = named("RTX 4090");
  EXPECT_TRUE(accepts({}, device));
  EXPECT_TRUE(accepts({.vendor = "nvidia",
                       .family = "rtx 40",
                       .compute_capability = "8.9",
                       .memory_bytes = 24.0 * (1 << 30),
                       .year = 2022},
                      device));
  EXPECT_FALSE(accepts({.compute_capability = "8"}, device));
  EXPECT_FALSE(accepts({.memory_bytes = 25.0 * (1 << 30)}, device));
  EXPECT_FALSE(accepts({.year = 2023}, device));
  EXPECT_FALSE(accepts({.memory_bytes = 1}, named("M2 Pro"))) << "its memory has no source";
}

TEST(FindDevice, TakesEveryUsualWayToWriteAName) {
  for (auto [given, meant] : {std::pair("GeForce RTX 4090", "GeForce RTX 4090"),
                              {"NVIDIA GeForce RTX 4090", "GeForce RTX 4090"},
                              {"rtx 4090", "GeForce RTX 4090"},
                              {"RTX4090", "GeForce RTX 4090"},
                              {"4090", "GeForce RTX 4090"},
                              {"RTX 4070", "GeForce RTX 4070"},
                              {"T4", "Tesla T4"},
                              {"A6000", "RTX A6000"},
                              {"RTX PRO 6000 Blackwell Server", "RTX PRO 6000 Blackwell Server"},
                              {"RTX 6000", "Quadro RTX 6000"},
                              {"RTX 6000 Ada", "RTX 6000 Ada"},
                              {"A100-SXM4-80GB", "A100 SXM4 80GB"},
                              {"NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"},
                              {"B200", "B200 SXM 180GB"},
                              {"mi300x", "Instinct MI300X"},
                              {"K80", "Tesla K80 (per GPU)"},
                              {"M1 Pro", "M1 Pro (16-core GPU)"},
                              {"M1", "M1 (8-core GPU)"}}) {
    auto device = find_device(all_devices(), given);
    ASSERT_TRUE(device) << given << ": " << device.error().message;
    EXPECT_EQ(device->name, meant) << given;
  }
}

TEST(FindDevice, FindsEveryDeviceByItsOwnName) {
  std::vector<CatalogueDevice> devices = all_devices();
  for (const CatalogueDevice& device : devices) {
    auto found = match_devices(devices, device.name);
    ASSERT_EQ(found.size(), 1u) << device.name;
    EXPECT_EQ(found.front()->name, device.name);
  }
}

TEST(FindDevice, ASliceHasItsShareOfTheGpu) {
  const std::vector<CatalogueDevice> devices = all_devices();
  const CatalogueDevice whole = *find_device(devices, "H100 SXM5 80GB");
  const auto slice = find_device(devices, "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
  ASSERT_TRUE(slice) << slice.error().message;
  EXPECT_EQ(slice->name, "H100 SXM5 80GB MIG 1g.10gb");
  EXPECT_DOUBLE_EQ(*slice->memory_bytes, *whole.memory_bytes / 8);
  EXPECT_DOUBLE_EQ(*slice->bytes_per_s, *whole.bytes_per_s / 8);
  EXPECT_DOUBLE_EQ(peak(*slice, Precision::kBf16)->flops_per_s, peak(whole, Precision::kBf16)->flops_per_s / 7);
  EXPECT_EQ(peak(*slice, Precision::kBf16)->origin, Origin::kDerived);
  EXPECT_FALSE(slice->power_w || slice->multiprocessors) << "not in proportion";
  EXPECT_DOUBLE_EQ(*find_device(devices, "A30 MIG 2g.12gb")->bytes_per_s,
                   *find_device(devices, "A30")->bytes_per_s / 2);
  EXPECT_DOUBLE_EQ(*find_device(devices, "NVIDIA A100-SXM4-80GB MIG 3g.40gb")->bytes_per_s,
                   *find_device(devices, "A100 SXM4 80GB")->bytes_per_s / 2);
  for (const char* none :
       {"RTX 4090 MIG 1g.10gb", "H100 SXM5 80GB MIG 8g.80gb", "H100 SXM5 80GB MIG 1g.400gb", "MIG 1g.10gb"})
    EXPECT_FALSE(find_device(devices, none)) << none;
}

// Names as CUDA and nvidia-smi show them.
TEST(FindDevice, TakesTheDriversNames) {
  const std::vector<CatalogueDevice> devices = all_devices();
  for (const auto& [driver, rows] : std::vector<std::pair<const char*, std::vector<std::string>>>{
           {"NVIDIA H100 80GB HBM3", {"H100 SXM5 80GB"}},
           {"NVIDIA H100 PCIe", {"H100 PCIe 80GB"}},
           {"NVIDIA H100 80GB HBM2e", {"H100 PCIe 80GB"}},
           {"NVIDIA H200", {"H200 SXM 141GB", "H200 NVL 141GB"}},
           {"NVIDIA GH200 480GB", {"GH200 96GB (GPU)"}},
           {"NVIDIA GH200 144G HBM3e", {"GH200 144GB (GPU)"}},
           {"NVIDIA B300 SXM6 AC", {"B300 SXM 288GB"}},
           {"NVIDIA GB300", {"GB300 (per GPU)"}},
           {"NVIDIA A100-SXM-80GB", {"A100 SXM4 80GB"}},
           {"NVIDIA A100-PCIE-40GB", {"A100 PCIe 40GB"}},
           {"NVIDIA A100 80GB PCIe", {"A100 PCIe 80GB"}},
           {"Tesla K20Xm", {"Tesla K20X"}},
           {"Tesla V100-SXM3-32GB", {"Tesla V100 SXM3 32GB"}},
           {"NVIDIA TITAN X (Pascal)", {"TITAN X (Pascal)"}},
           {"NVIDIA GeForce RTX 3060", {"GeForce RTX 3060 12GB", "GeForce RTX 3060 8GB"}},
           {"NVIDIA GeForce RTX 3080", {"GeForce RTX 3080 10GB", "GeForce RTX 3080 12GB"}},
           {"NVIDIA RTX 4000 Ada Generation", {"RTX 4000 Ada"}},
           {"NVIDIA RTX 4000 SFF Ada Generation", {"RTX 4000 SFF Ada"}},
           {"NVIDIA RTX PRO 6000 Blackwell Server Edition", {"RTX PRO 6000 Blackwell Server"}},
           {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", {}},
           {"NVIDIA GeForce RTX 4090 Laptop GPU", {}},
           {"NVIDIA GeForce RTX 4090 D", {}}}) {
    std::vector<std::string> found;
    for (const CatalogueDevice* device : match_devices(devices, driver)) found.push_back(device->name);
    EXPECT_EQ(found, rows) << driver;
  }
  for (const CatalogueDevice& device : devices) {  // with the vendor's name in front, as drivers write it
    const auto found = match_devices(devices, device.vendor + " " + device.name);
    ASSERT_EQ(found.size(), 1u) << device.name;
    EXPECT_EQ(found.front()->name, device.name);
  }
}

TEST(FindDevice, AsksWhichWhereANameMeansSeveral) {
  auto device = find_device(all_devices(), "H100");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, Code::kInvalid);
  EXPECT_NE(device.error().message.find("'H100' can mean 3 devices: H100 SXM5 80GB, H100 PCIe 80GB, H100 NVL 94GB"),
            std::string::npos)
      << device.error().message;
}

TEST(FindDevice, NamesTheNearestOnesOfAnUnknownName) {
  auto device = find_device(all_devices(), "GeForce RTX 4091");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, Code::kNotFound);
  EXPECT_NE(device.error().message.find("GeForce RTX 4090"), std::string::npos) << device.error().message;
  EXPECT_FALSE(find_device(all_devices(), ""));
  EXPECT_FALSE(find_device(all_devices(), " - "));
}

}  // namespace
}  // namespace ridge::catalogue
