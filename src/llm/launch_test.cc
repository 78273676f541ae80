#include "llm/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/csv.h"
#include "catalogue/data.h"

namespace ridge::llm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAreArray;

constexpr std::array kEngines = {EngineKind::kVllm, EngineKind::kTensorRtLlm, EngineKind::kSglang};

struct Flag {
  std::string version;
  std::vector<std::string> values;
};
// data/engine_flags.csv of one engine.
std::map<std::string, Flag> flags_of(EngineKind engine) {
  const Csv csv = *parse_csv(catalogue::data("engine_flags"), "engine_flags");
  std::map<std::string, Flag> flags;
  for (const auto& row : csv.rows) {
    if (row[0] != program_of(engine).name) continue;
    Flag flag{row[1], {}};
    for (size_t begin = 0; begin < row[3].size();) {
      const size_t end = std::min(row[3].find(' ', begin), row[3].size());
      flag.values.push_back(row[3].substr(begin, end - begin));
      begin = end + 1;
    }
    flags[row[2]] = flag;
  }
  return flags;
}

bool accepts(const Flag& flag, const std::string& value) {
  if (flag.values.size() > 1) return std::find(flag.values.begin(), flag.values.end(), value) != flag.values.end();
  if (flag.values.front() == "integer")
    return !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (flag.values.front() == "number")
    return !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
  if (flag.values.front() == "JSON") return parse_json(value, "value").ok();
  return flag.values.front() == "text";
}

// Keys of a file of options with their levels: "kv_cache_config.dtype".
std::set<std::string> keys_of(const std::string& yaml) {
  std::set<std::string> keys;
  std::string above;
  for (size_t begin = 0; begin < yaml.size();) {
    const size_t end = yaml.find('\n', begin), colon = yaml.find(':', begin);
    const std::string line = yaml.substr(begin, end - begin), key = yaml.substr(begin, colon - begin);
    if (line.ends_with(':'))
      above = key + ".";
    else
      keys.insert(line.starts_with("  ") ? above + key.substr(2) : key);
    begin = end + 1;
  }
  return keys;
}

Deployment deployment(EngineKind engine) {
  Deployment d;
  d.model.layers = {{}};
  d.engine = engine;
  return d;
}
Serving serving(EngineKind engine, Parallel parallel) {
  Serving s;
  s.gpu = "H100 SXM5 80GB";
  s.engine = engine;
  s.parallel = parallel;
  s.weights = "fp8";
  return s;
}

TEST(Launch, HasOnlyFlagsOfTheEnginesOwnListsAndAllOfThem) {
  std::vector<EngineKind> engines(std::begin(kEngines), std::end(kEngines));
  engines.push_back(EngineKind::kLlamaCpp);
  for (const EngineKind engine : engines) {
    const std::map<std::string, Flag> known = flags_of(engine);
    std::set<std::string> used;
    for (const Parallel& parallel : {Parallel{1, 1, 1, 1, 1}, Parallel{1, 4, 2, 1, 4}})
      for (const double cache_bits : {8.0, 16.0})
        for (const WeightFormat format : {WeightFormat::kBf16, WeightFormat::kFp8})
          for (const int64_t draft : {0, 3})
            for (const Role role : {Role::kAll, Role::kPrefill, Role::kDecode}) {
              Deployment d = deployment(engine);
              d.cache_bits = cache_bits;
              d.gpu.capability = 7.5;  // no BF16: --dtype half
              d.formats = {format, format, format};
              d.draft_tokens = draft;
              d.model.draft_layers = 1;
              Load load;
              load.receive_interval = 10;
              load.most_sequences = 64;
              load.batch_wait_steps = 40;
              Serving s = serving(engine, parallel);
              if (role != Role::kAll) s.prefill = PrefillPool{parallel, 1, {}, 0, 0};
              const Launch launch = launch_of(d, s, "m", load, role);
              std::vector<std::string> words = launch.program;
              words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
              for (size_t i = 0; i < words.size(); ++i) {
                if (!words[i].starts_with("-")) continue;
                ASSERT_TRUE(known.contains(words[i])) << words[i];
                used.insert(words[i]);
                const Flag& flag = known.at(words[i]);
                const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("-");
                EXPECT_EQ(has_value, flag.values.front() != "switch") << words[i];
                EXPECT_TRUE(!has_value || accepts(flag, words[i + 1])) << words[i] << " " << words[i + 1];
              }
              for (const std::string& key : keys_of(launch.options)) {
                EXPECT_TRUE(known.contains(key)) << key;
                used.insert(key);
              }
            }
    used.insert({"--host", "--port"});  // of the manifest
    if (!program_of(engine).file_flag.empty()) used.insert(std::string(program_of(engine).file_flag));
    std::vector<std::string> all;
    for (const auto& [flag, row] : known) {
      all.push_back(flag);
      EXPECT_EQ(row.version, program_of(engine).version) << flag;
    }
    EXPECT_THAT(used, UnorderedElementsAreArray(all)) << program_of(engine).name;
    EXPECT_THAT(std::string(program_of(engine).image), HasSubstr(std::string(program_of(engine).version)));
  }
}

TEST(Launch, NamesTheParallelismInTheEnginesOwnWay) {
  Deployment d = deployment(EngineKind::kVllm);
  d.cache_bits = 8;
  const Parallel parallel = {4, 2, 1, 1, 8};
  EXPECT_THAT(launch_of(d, serving(EngineKind::kVllm, parallel), "m", {}).arguments,
              IsSupersetOf({"--tensor-parallel-size", "4", "--data-parallel-size", "2", "--enable-expert-parallel"}));
  // SGLang counts all GPUs of a stage as tensor parallel, replicates attention inside of them and divides the chunk
  // among the replicas.
  EXPECT_THAT(
      launch_of(d, serving(EngineKind::kSglang, parallel), "m", {}).arguments,
      IsSupersetOf({"--tp-size", "8", "--attn-dp-size", "2", "--ep-size", "--kv-cache-dtype", "fp8_e4m3", "16384"}));
  const Launch trtllm = launch_of(d, serving(EngineKind::kTensorRtLlm, {1, 8, 1, 1, 8}), "m", {});
  EXPECT_THAT(trtllm.arguments, IsSupersetOf({"--tp_size", "8", "--ep_size"}));
  EXPECT_EQ(trtllm.options,
            "enable_attention_dp: true\nkv_cache_config:\n  dtype: fp8\n  free_gpu_memory_fraction: 0.88\n");
}

TEST(Launch, NamesTheMostSequencesOfAReplicaOfAttention) {
  const Deployment d = deployment(EngineKind::kVllm);
  Load load;
  load.most_sequences = 64;
  const Parallel parallel = {1, 2, 1, 1, 1};
  EXPECT_THAT(launch_of(d, serving(EngineKind::kVllm, parallel), "m", load).arguments,
              IsSupersetOf({"--max-num-seqs", "64"}));
  // SGLang divides it.
  EXPECT_THAT(launch_of(d, serving(EngineKind::kSglang, parallel), "m", load).arguments,
              IsSupersetOf({"--max-running-requests", "128"}));
  EXPECT_THAT(launch_of(d, serving(EngineKind::kTensorRtLlm, parallel), "m", load).arguments,
              IsSupersetOf({"--max_batch_size", "64"}));
}

TEST(Launch, TellsTensorRtLlmHowLongPromptsWait) {
  const Deployment d = deployment(EngineKind::kTensorRtLlm);
  Load load;
  load.batch_wait_steps = 40;
  load.batch_wait_share = 0.8;
  EXPECT_EQ(launch_of(d, serving(EngineKind::kTensorRtLlm, {}), "m", load).options,
            "batch_wait_timeout_iters: 40\nbatch_wait_max_tokens_ratio: 0.8\n");
  EXPECT_EQ(launch_of(d, serving(EngineKind::kTensorRtLlm, {1, 2, 1, 1, 1}), "m", load).options,
            "enable_attention_dp: true\nattention_dp_config:\n  enable_balance: true\n  timeout_iters: 40\n"
            "  batching_wait_iters: 0\n");
}

TEST(Launch, IsOfOneKindOfWorkerWherePromptsHaveTheirOwn) {
  const Deployment d = deployment(EngineKind::kVllm);
  const auto launch = [&](EngineKind engine, Role role) {
    Serving s = serving(engine, {4, 1, 1, 1, 1});
    s.prefill = PrefillPool{{1, 2, 1, 1, 1}, 3, {}, 0, 0};
    return launch_of(d, s, "m", {}, role);
  };
  EXPECT_THAT(launch(EngineKind::kVllm, Role::kPrefill).arguments,
              IsSupersetOf({"--tensor-parallel-size", "1", "--data-parallel-size", "2", "--kv-transfer-config"}));
  EXPECT_THAT(launch(EngineKind::kVllm, Role::kDecode).arguments,
              IsSupersetOf({"--tensor-parallel-size", "4", "--kv-transfer-config"}));
  EXPECT_THAT(launch(EngineKind::kSglang, Role::kPrefill).arguments,
              IsSupersetOf({"--disaggregation-mode", "prefill", "--attn-dp-size", "16384"}));
  EXPECT_THAT(launch(EngineKind::kSglang, Role::kDecode).arguments,
              IsSupersetOf({"--disaggregation-mode", "decode", "--tp-size", "4"}));
  EXPECT_EQ(launch(EngineKind::kTensorRtLlm, Role::kPrefill).options,
            "enable_attention_dp: true\ncache_transceiver_config:\n  backend: DEFAULT\n"
            "disable_overlap_scheduler: true\n");
  EXPECT_EQ(launch(EngineKind::kTensorRtLlm, Role::kDecode).options, "cache_transceiver_config:\n  backend: DEFAULT\n");
}

TEST(Launch, SaysWhichFilesItNeeds) {
  Deployment d = deployment(EngineKind::kVllm);
  EXPECT_THAT(launch_of(d, serving(EngineKind::kVllm, {}), "m", {}).notes, testing::IsEmpty());
  d.formats = {WeightFormat::kFp8, WeightFormat::kFp8, WeightFormat::kFp8};
  // vLLM and SGLang quantise to FP8 while they load.
  EXPECT_THAT(launch_of(d, serving(EngineKind::kVllm, {}), "m", {}).notes, testing::IsEmpty());
  EXPECT_THAT(launch_of(d, serving(EngineKind::kTensorRtLlm, {}), "m", {}).notes, testing::SizeIs(1));
  d.formats = {WeightFormat::kInt4, WeightFormat::kInt4, WeightFormat::kInt4};
  d.draft_tokens = 2;
  EXPECT_THAT(launch_of(d, serving(EngineKind::kVllm, {}), "m", {}).notes, testing::SizeIs(2));
}

TEST(Manifest, RefusesAReplicaLargerThanANode) {
  const Deployment d = deployment(EngineKind::kVllm);
  Serving s = serving(EngineKind::kVllm, {8, 1, 1, 1, 1});
  const Launch launch = launch_of(d, s, "m", {});
  EXPECT_TRUE(manifest_of(launch, s, "m", "").ok());
  s.gpu = "GB200 (per GPU)";
  ASSERT_FALSE(manifest_of(launch, s, "m", "").ok());
  EXPECT_THAT(manifest_of(launch, s, "m", "").error().message, HasSubstr("--gpus 4"));
}

TEST(Manifest, RefusesPrefillWorkers) {
  Serving s = serving(EngineKind::kVllm, {});
  s.prefill = PrefillPool{};
  const Result<std::string> manifest =
      manifest_of(launch_of(deployment(EngineKind::kVllm), s, "m", {}, Role::kDecode), s, "m", "");
  ASSERT_FALSE(manifest.ok());
  EXPECT_THAT(manifest.error().message, HasSubstr("--deployment aggregated"));
}

TEST(ProductLabel, IsOfDevicesOfTheCatalogue) {
  EXPECT_EQ(product_label("H100 SXM5 80GB"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(product_label("GeForce RTX 4090"), "NVIDIA-GeForce-RTX-4090");
  EXPECT_EQ(product_label("B100 SXM"), "");
  EXPECT_EQ(product_label("H100 SXM5 80GB (cuda:1)"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(product_label("NVIDIA TITAN RTX (cuda:0)"), "NVIDIA-TITAN-RTX");
  int known = 0;
  const std::vector<catalogue::CatalogueDevice> devices = *catalogue::catalogue();
  for (const catalogue::CatalogueDevice& device : devices)
    known += !device.name.starts_with("GeForce") && !product_label(device.name).empty();
  EXPECT_EQ(known, 27);  // each row of the table names a device
}

}  // namespace
}  // namespace ridge::llm
