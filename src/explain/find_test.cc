#include "explain/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "explain/answer.h"

namespace ridge::explain {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Book& book() {
  static const Book opened = [] {
    auto result = open_book({{"--max-batch", "tune", "--max-batch N  largest batch to try (default 32)"},
                             {"--batch", "plan", "--batch N  rows"},
                             {"--batch", "bench", "--batch N  rows"}});
    EXPECT_TRUE(result) << result.error().message;
    return std::move(result).value();
  }();
  return opened;
}

std::vector<std::string> ids(std::string_view query) {
  std::vector<std::string> list;
  for (const Answer& answer : answers(book(), find(book(), query), Language::kEnglish)) list.push_back(answer.id);
  return list;
}

std::string first(std::string_view query) {
  const std::vector<std::string> all = ids(query);
  return all.empty() ? "" : all.front();
}

TEST(Find, ACodeByEitherOfItsNames) {
  EXPECT_THAT(ids("CUDA_ERROR_OUT_OF_MEMORY"), ElementsAre("cuda 2"));
  EXPECT_THAT(ids("cudaErrorMemoryAllocation"), ElementsAre("cuda 2"));
  EXPECT_THAT(ids("ncclSystemError"), Contains("nccl 2"));
}

TEST(Find, SentencesOfTheVerbs) {
  EXPECT_EQ(ids("skipped: similar candidates were too slow").front(), "ridge-tune-passed-over");
  EXPECT_EQ(ids("does not fit into the available memory").front(), "ridge-tune-passed-over");
  EXPECT_EQ(ids("limits of this machine are uncertain: L3, 2 threads, 203 GB/s ± 53.0 % and 3 more; measure them again "
                "when it is quiet: ridge bench device --fresh")
                .front(),
            "ridge-uncertain-limits");
  EXPECT_EQ(ids("shows the machine and the engine (--absolute judges it)").front(), "ridge-set-aside");
  EXPECT_EQ(ids("recorded on another machine").front(), "ridge-set-aside");
  EXPECT_EQ(ids("left out at this width: precision, batch").front(), "ridge-left-out");
  EXPECT_EQ(ids("a run costs 42.6 µs fixed + 1.28 µs per row").front(), "ridge-fixed-and-per-row");
  EXPECT_EQ(ids("1 thread: the run is too short to parallelise (at least 1.2 µs)").front(), "ridge-one-thread");
  EXPECT_EQ(ids("No regression: nothing is significantly worse by more than 5 %.").front(), "ridge-regressed");
  EXPECT_EQ(ids("No regression: nothing is significantly worse").front(), "ridge-regressed");
  EXPECT_EQ(ids("the interval stayed wide").front(), "ridge-not-narrow");
  EXPECT_EQ(ids("Accuracy holds over 27 samples: cosine at least 0.999.").front(), "ridge-accuracy");
}

TEST(Find, ANumberWithItsFamily) {
  EXPECT_THAT(ids("cuda 700"), ElementsAre("cuda 700"));
  EXPECT_THAT(ids("xid 79"), ElementsAre("xid 79"));
  EXPECT_THAT(ids("XID79"), ElementsAre("xid 79"));
  EXPECT_THAT(ids("nccl 3"), ElementsAre("nccl 3"));
  EXPECT_THAT(ids("nvml: 15"), ElementsAre("nvml 15"));
  EXPECT_THAT(ids("CUDA error 209"), ElementsAre("cuda 209"));
  EXPECT_THAT(ids("xid 7000"), ElementsAre("xid"));  // the term, because the code is unknown
}

TEST(Find, ANumberAloneInEveryFamilyAndByItsName) {
  EXPECT_THAT(ids("15"), ElementsAre("nvml 15"));
  EXPECT_THAT(ids("error 700"), ElementsAre("cuda 700"));
  EXPECT_THAT(ids("137"), ElementsAre("oom-killer", "xid 137"));
  EXPECT_THAT(ids("cuda 12"), ElementsAre("cuda-toolkit", "cuda 12"));
}

TEST(Find, AnXidInALineOfTheKernelLog) {
  EXPECT_EQ(first("NVRM: Xid (PCI:0000:65:00): 79, pid=1234, GPU has fallen off the bus"), "xid 79");
  EXPECT_EQ(first("[ 12.3] NVRM: Xid (PCI:0000:01:00): 31, Ch 00000018, intr 10000000. MMU Fault"), "xid 31");
  EXPECT_EQ(first("NVRM: Xid (0000:03:00): 48, An uncorrectable double bit error"), "xid 48");
}

TEST(Find, EverythingThatAMessageNames) {
  EXPECT_THAT(
      ids("NVRM: Xid (PCI:0000:65:00): 31, pid=1\nRuntimeError: CUDA error: an illegal memory access was encountered"),
      ElementsAre("xid 31", "cuda 700"));
}

TEST(Find, AVersionIsNoCode) {
  EXPECT_THAT(ids("built with CUDA 12.8 and NCCL 2.21 for the RTX 4090 and nothing else of note"),
              Not(Contains("cuda 12")));
  EXPECT_THAT(ids("CUDA error version 12.8 something"), Not(Contains("cuda 12")));
}

TEST(Find, NumbersBehindTheWordError) {
  EXPECT_EQ(first("cudaMalloc returned CUDA error code: 46"), "cuda 46");
  EXPECT_EQ(first("failed with NVML error 18 (see log)"), "nvml 18");
}

TEST(Find, GenericCodesComeBehindWhatIsTelling) {
  const auto all =
      ids("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-abc\nncclSystemError: unhandled system "
          "error");
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front(), "nccl-shm");
  EXPECT_THAT(all, Contains("nccl 2"));
}

TEST(Find, TheMissingLibraryOfACudaProvider) {
  const auto all =
      ids("[E:onnxruntime:Default, provider_bridge_ort.cc:1744] Failed to load library "
          "libonnxruntime_providers_cuda.so with error: "
          "libcublasLt.so.12: cannot open shared object file: No such file or directory");
  EXPECT_THAT(all, ElementsAre("ort-cuda-provider-load", "missing-shared-library"));
}

struct MessageCase {
  const char* text;
  const char* id;
};

class Messages : public testing::TestWithParam<MessageCase> {};

TEST_P(Messages, AreRecognised) { EXPECT_EQ(first(GetParam().text), GetParam().id); }

INSTANTIATE_TEST_SUITE_P(
    AsPeoplePasteThem, Messages,
    testing::Values(
        MessageCase{
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "23.65 GiB",
            "out-of-memory"},
        MessageCase{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
                    "nvidia-smi-failed"},
        MessageCase{"NVIDIA-SMI has failed because it couldn’t communicate with the NVIDIA driver.",
                    "nvidia-smi-failed"},
        MessageCase{"Failed to initialize NVML: Driver/library version mismatch", "nvml 18"},
        MessageCase{"Failed to initialize NVML: Unknown Error", "nvml-unknown-in-container"},
        MessageCase{
            "Unable to determine the device handle for GPU 0000:65:00.0: GPU is lost.  Reboot the system to recover "
            "this GPU",
            "nvml 15"},
        MessageCase{"RuntimeError: CUDA error: device-side assert triggered", "cuda 710"},
        MessageCase{"CUDA error: no kernel image is available for execution on the device", "cuda 209"},
        MessageCase{
            "InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: images "
            "for the "
            "following indices\n index: 0 Got: 4 Expected: 1\n Please fix either the inputs/outputs or the model.",
            "ort-invalid-dimensions"},
        MessageCase{
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input data type. Actual: (tensor(double)) , "
            "expected: "
            "(tensor(float))",
            "ort-input-type"},
        MessageCase{
            "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from m.onnx failed:Protobuf parsing failed.",
            "ort-protobuf"},
        MessageCase{
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Conv node. "
            "Name:'/conv1/Conv' Status Message: ",
            "ort-node-failed"},
        MessageCase{
            "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Conv(11) node with "
            "name ''",
            "ort-op-missing"},
        MessageCase{"Unsupported model IR version: 11, max supported IR version: 10", "ort-opset-too-new"},
        MessageCase{"[ 812.1] Out of memory: Killed process 4242 (python3) total-vm:99kB, anon-rss:9kB", "oom-killer"},
        MessageCase{"Memory cgroup out of memory: Killed process 17 (ridge)", "oom-killer"},
        MessageCase{
            "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.21",
            "nccl-system-error"},
        MessageCase{
            "[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)",
            "nccl-hang"},
        MessageCase{"RuntimeError: DataLoader worker (pid 33) is killed by signal: Bus error.", "dataloader-bus-error"},
        MessageCase{
            "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
            "container-gpu-driver"},
        MessageCase{"0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "k8s-insufficient-gpu"},
        MessageCase{"Readiness probe failed: HTTP probe failed with statuscode: 503", "probe-failed"},
        MessageCase{"inference request batch-size must be <= 8 for 'resnet50'", "triton-shape"},
        MessageCase{"unexpected shape for input 'x' for model 'm'. Expected [-1,3,224,224], got [1,224,224,3]",
                    "triton-shape"},
        MessageCase{"{\"error\":\"Request for unknown model: 'nope' is not found\"}", "triton-model-not-found"},
        MessageCase{"Exceeds maximum queue size", "triton-queue-full"},
        MessageCase{
            "The engine plan file is not compatible with this version of TensorRT, expecting library version 8.6",
            "tensorrt-engine-version"},
        MessageCase{"CUDNN_STATUS_NOT_INITIALIZED", "cudnn-error"},
        MessageCase{"CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0", "cublas-error"},
        MessageCase{"pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer", "pcie-aer"},
        MessageCase{"No runtime found to support specified framework/version", "kserve-no-runtime"},
        MessageCase{
            "ridge plan: bert.onnx has dynamic dimensions without a value: sequence; give each one, e.g. --shape "
            "sequence=128",
            "ridge-open-dimension"},
        MessageCase{"RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x512 and 2048x1000)", "matmul-shapes"},
        MessageCase{
            "The machine was busy: this process got 16.3 % of the CPU time it asked for; others used 1.6 of 2 CPUs",
            "ridge-disturbed"},
        MessageCase{"noise between repeats of the baseline: ±63.4 %", "noise"},
        MessageCase{"    12 skipped: its physical limit is below the best measured", "ridge-tune-skipped"},
        MessageCase{"not searched: onnxruntime int8-weights: smaller weights help memory-bound models",
                    "ridge-tune-rejected"},
        MessageCase{"No regression: nothing is significantly worse by more than 5 %.", "ridge-regressed"},
        MessageCase{"model on cpu: u8 in 3 layers", "ridge-layer-types"},
        MessageCase{"llama_model_load: error: check_tensor_dims: tensor 'blk.0.attn_q.weight' has wrong shape",
                    "llm-tensor-shape"},
        MessageCase{
            "Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.",
            "load-not-maintained"},
        MessageCase{"TemplateError: Conversation roles must alternate user/assistant/user/assistant/...", "chat-roles"},
        MessageCase{"Cannot access gated repo for url https://example.org/x. Access to model x is restricted.",
                    "hub-gated"},
        MessageCase{"ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can "
                    "be stored in KV cache (58432).",
                    "cache-too-small"},
        MessageCase{"RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "flash-attention-gpu"},
        MessageCase{"Back-off restarting failed container ridge in pod x, reason: OOMKilled", "oom-killer"},
        MessageCase{"TensorRT engine is not compatible with this device", "tensorrt-engine-version"},
        MessageCase{"/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ridge)",
                    "glibc-version"}));

struct TermCase {
  const char* text;
  const char* id;
};

class Terms : public testing::TestWithParam<TermCase> {};

TEST_P(Terms, AreFoundByTheNamesThatPeopleUse) { EXPECT_EQ(first(GetParam().text), GetParam().id); }

INSTANTIATE_TEST_SUITE_P(
    AsPeopleAsk, Terms,
    testing::Values(TermCase{"roofline", "roofline"}, TermCase{"Ridge Point", "ridge-point"},
                    TermCase{"bank conflict", "bank-conflict"}, TermCase{"p99", "p99"}, TermCase{"bf16", "bf16"},
                    TermCase{"int8 quantisation", "int8-quantisation"},
                    TermCase{"int8 quantization", "int8-quantisation"}, TermCase{"cgroup quota", "cgroup-quota"},
                    TermCase{"Little's law", "littles-law"}, TermCase{"M/M/c", "mmc"},
                    TermCase{"nvidia.com/gpu", "nvidia-com-gpu"},
                    TermCase{"cudnn_conv_algo_search", "cudnn-conv-algo-search"}, TermCase{"warm-up", "warm-up"},
                    TermCase{"what is a KV cache?", "kv-cache"}, TermCase{"advice vision", "advice-vision"},
                    TermCase{"advice high", "advice-high"}, TermCase{"算术强度", "arithmetic-intensity"},
                    TermCase{"什么是算术强度？", "arithmetic-intensity"}, TermCase{"显存不足", "out-of-memory"},
                    TermCase{"nv_inference_queue_duration_us", "nv-inference-queue-duration-us"},
                    TermCase{"nvidia-smi -pm 1", "persistence-mode"}, TermCase{"allow_growth", "allow-growth"},
                    TermCase{"ＸＩＤ　７９", "xid 79"}, TermCase{"exit code 137", "oom-killer"},
                    TermCase{"L04", "claim-l04"}, TermCase{"handbook", "handbook"}, TermCase{"the guides", "handbook"},
                    TermCase{"手册", "handbook"}, TermCase{"vLLM", "vllm"}, TermCase{"segfault", "segmentation-fault"},
                    TermCase{"plain", "plain-bandwidth"}, TermCase{"no rule", "without-rule"},
                    TermCase{"block base 4", "ridge-block-base"}, TermCase{"the baseline against itself", "noise"},
                    TermCase{"prefix cache", "prefix-cache"}, TermCase{"MLA", "mla"},
                    TermCase{"AWQ", "weight-quantisation"}, TermCase{"NVFP4", "nvfp4"}, TermCase{"knee", "knee"},
                    TermCase{"EP 8", "expert-parallel"}, TermCase{"EP", "execution-provider"},
                    TermCase{"4090 显存不够，怎么办", "out-of-memory"}, TermCase{"显存爆了", "out-of-memory"},
                    TermCase{"怎么选显卡", "advice-inference-card"}, TermCase{"small-model", "ridge-advice"},
                    TermCase{"bound-below-best", "ridge-tune-skipped"}));

TEST(Find, AnOptionWithEveryVerbThatHasIt) {
  EXPECT_THAT(ids("--batch"), ElementsAre("ridge plan --batch", "ridge bench --batch", "option-batch"));
  EXPECT_THAT(ids("--max-batch"), Contains("ridge tune --max-batch"));
  EXPECT_THAT(ids("ridge plan --batch"), ElementsAre("ridge plan --batch"));
  EXPECT_THAT(ids("max-batch"), Contains("ridge tune --max-batch"));
}

TEST(Find, ALongTextOfWhichOnlyAWordIsKnownSaysSo) {
  EXPECT_TRUE(find(book(), "the frobnicator of my tensor was lost beside seven green boxes").words_only);
  EXPECT_FALSE(find(book(), "what is a tensor?").words_only);
  EXPECT_FALSE(find(book(), "RuntimeError: FlashAttention only supports Ampere GPUs or newer.").words_only);
}

TEST(Find, NothingGivesTheNearestNames) {
  const Match found = find(book(), "roofflinx modlqq");
  EXPECT_TRUE(found.hits.empty());
  EXPECT_THAT(find(book(), "arithmetic intensty").near, Contains("arithmetic intensity"));
  EXPECT_THAT(find(book(), "arithmetic intensty").near, Not(Contains(HasSubstr("强度"))));
  EXPECT_TRUE(find(book(), "qqqqzzzzqqqq").near.empty());
  EXPECT_TRUE(find(book(), "   ").hits.empty());
}

// The worst case for searching: prefixes of the target, repeated.
std::string hard_text(size_t size) {
  std::string text;
  while (text.size() < size) text += "failed to load library nccl warn cuda error code xid (pci:0000 ";
  return text + "\nNVRM: Xid (PCI:0000:65:00): 79, pid=1\n";
}

TEST(Find, WorkGrowsNoFasterThanTheText) {
  auto cpu_time = [](const std::string& text) {
    const std::clock_t begin = std::clock();
    find(book(), text);
    return static_cast<double>(std::clock() - begin);
  };
  cpu_time(hard_text(kMostText / 8));  // built once
  EXPECT_LT(cpu_time(hard_text(kMostText)),
            24 * cpu_time(hard_text(kMostText / 8)));  // 64 if it were quadratic
}

TEST(Find, OfMoreThanAMebibyteOfTextTheEndCounts) {
  const std::string text = hard_text(3 * kMostText / 2);
  const Match found = find(book(), text);
  EXPECT_EQ(found.unread, text.size() - kMostText);
  ASSERT_FALSE(found.hits.empty());
  EXPECT_EQ(answers(book(), found, Language::kEnglish).front().id, "xid 79");
}

TEST(Find, BytesThatAreNoTextDoNoHarm) {
  std::string text;
  for (int i = 0; i < 4096; ++i) text += static_cast<char>(i * 37 + i / 256);
  EXPECT_LE(find(book(), text).hits.size(), kMostHits);
  EXPECT_LE(find(book(), std::string(1000, '\0')).hits.size(), kMostHits);
}

TEST(Find, AtMostTwelveAndTheRestIsCounted) {
  std::string text;
  for (int number : {8, 11, 13, 25, 31, 32, 37, 38, 39, 40, 41, 43, 44, 45})
    text += "NVRM: Xid (PCI:0000:01:00): " + std::to_string(number) + ", pid=1\n";
  const Match found = find(book(), text);
  EXPECT_EQ(found.hits.size(), kMostHits);
  EXPECT_GE(found.left_out, 2u);
}

TEST(Answers, ACodeSaysWhereTheCauseLiesAndTakesTheDepthOfItsEntry) {
  const Answer english = answers(book(), find(book(), "cuda 700"), Language::kEnglish).front();
  EXPECT_EQ(english.title, "CUDA 700 · CUDA_ERROR_ILLEGAL_ADDRESS · cudaErrorIllegalAddress");
  EXPECT_THAT(english.where, HasSubstr("the program"));
  EXPECT_THAT(english.deeper, HasSubstr("XID 31"));
  EXPECT_THAT(english.see, Contains("illegal-memory-access"));
  const Answer chinese = answers(book(), find(book(), "cuda 700"), Language::kChinese).front();
  EXPECT_THAT(chinese.why, AllOf(HasSubstr("核函数"), Not(HasSubstr("kernel"))));
  EXPECT_THAT(chinese.where, HasSubstr("程序"));
}

TEST(Answers, WhereTheVendorSaysNothingTheAnswerSaysSo) {
  const Answer chinese = answers(book(), find(book(), "xid 82"), Language::kChinese).front();
  EXPECT_EQ(chinese.why, "“NVJPG0 Error”：厂商目录里只有这个英文简称，没有更多说明。");
}

TEST(Answers, AListKnowsItsSubjects) {
  for (const std::string& subject : list_subjects())
    EXPECT_FALSE(list(book(), subject, Language::kEnglish).empty()) << subject;
  EXPECT_TRUE(list(book(), "nothing", Language::kEnglish).empty());
}

}  // namespace
}  // namespace ridge::explain
