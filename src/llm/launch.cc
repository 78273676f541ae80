#include "llm/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/letter_case.h"

namespace ridge::llm {
namespace {

// Health: vllm/entrypoints/serve/instrumentator/health.py, sglang/srt/entrypoints/http_server.py,
// tensorrt_llm/serve/openai_server.py.
constexpr std::array<EngineProgram, 4> kPrograms = {{
    {.name = "vllm",
     .version = "0.33.0",
     .image = "docker.io/vllm/vllm-openai:v0.33.0",
     .router = "Dynamo, llm-d or the proxy of vLLM's examples"},
    {.name = "trtllm",
     .version = "1.2.1",
     .image = "nvcr.io/nvidia/tensorrt-llm/release:1.2.1",
     .file_flag = "--extra_llm_api_options",
     .router = "trtllm-serve disaggregated"},
    {.name = "sglang",
     .version = "0.5.23",
     .image = "docker.io/lmsysorg/sglang:v0.5.23",
     .health_timeout_s = 25,
     .router = "sglang_router or Dynamo"},
    {.name = "llamacpp", .version = "b7340", .image = "ghcr.io/ggml-org/llama.cpp:server-cuda-b7340"},
}};

// Flags with their values.
class Arguments {
 public:
  void add(std::string flag) { all.push_back(std::move(flag)); }
  void add(const char* flag, auto value) {
    all.emplace_back(flag);
    all.push_back(fmt::format("{}", value));
  }
  void add_above(int64_t least, const char* flag, int64_t value) {
    if (value > least) add(flag, value);
  }
  std::vector<std::string> all;
};

// Tokens of a sequence.
int64_t longest(const Load& load) { return load.workload.prompt_max + load.workload.output_max; }

bool equal(const Formats& a, const Formats& b) {
  return a.attention == b.attention && a.feed_forward == b.feed_forward && a.experts == b.experts;
}

// True if the engine can quantise the published 16-bit weights to these when it loads them.
bool quantised_on_load(const Deployment& d, const Serving& s) {
  const Formats published = d.model.formats;
  return s.engine != EngineKind::kTensorRtLlm &&
         equal(d.formats,
               {.attention = WeightFormat::kFp8, .feed_forward = WeightFormat::kFp8, .experts = WeightFormat::kFp8}) &&
         equal(published,
               {.attention = WeightFormat::kBf16, .feed_forward = WeightFormat::kBf16, .experts = WeightFormat::kBf16});
}

std::vector<std::string> notes_of(const Deployment& d, const Serving& s) {
  std::vector<std::string> notes;
  if (s.engine == EngineKind::kLlamaCpp)
    notes.push_back(
        "the model is one GGUF file: convert_hf_to_gguf.py of llama.cpp writes one in 16 bits, "
        "llama-quantize one in fewer");
  else if (!equal(d.formats, d.model.formats) && !quantised_on_load(d, s))
    notes.push_back(
        fmt::format("the model's files must hold their weights as {}; the published ones do not", s.weights));
  if (d.draft_tokens > 0 && !drafts(d))
    notes.push_back(fmt::format(
        "the plan drafts {} tokens per step; this model has no layers for it, so name a draft model to the engine",
        d.draft_tokens));
  return notes;
}

// Engines compute in BF16 only from compute capability 8.0.
void add_dtype(Arguments& a, const Deployment& d) {
  if (d.formats.attention == WeightFormat::kFp32)
    a.add("--dtype", "float32");
  else if (d.gpu.capability > 0 && d.gpu.capability < 8)
    a.add("--dtype", "half");
}

Launch llamacpp_launch(const Deployment& d, const Serving& s, const std::string& model, const Load& load) {
  const int64_t slots = std::max<int64_t>(1, load.most_sequences > 0 ? load.most_sequences : s.concurrency);
  Arguments a;
  a.add("--n-gpu-layers", 99);
  a.add("--parallel", slots);
  a.add("--ctx-size", slots * longest(load));
  a.add("--ubatch-size", chunk_of(load, s.engine));
  a.add("--flash-attn", "on");
  if (d.cache_bits <= 8.5)
    for (const char* cache : {"--cache-type-k", "--cache-type-v"}) a.add(cache, "q8_0");
  return {.program = {"llama-server", "--model", model}, .arguments = std::move(a.all)};
}

Launch vllm_launch(const Deployment& d, const Serving& s, const std::string& model, const Load& load, Role role) {
  Arguments a;
  a.add("--tensor-parallel-size", s.parallel.tensor);
  a.add_above(1, "--pipeline-parallel-size", s.parallel.pipeline);
  a.add_above(1, "--data-parallel-size", s.parallel.data);
  if (s.parallel.expert > 1) a.add("--enable-expert-parallel");
  add_dtype(a, d);
  if (d.cache_bits <= 8) a.add("--kv-cache-dtype", "fp8");
  if (quantised_on_load(d, s)) a.add("--quantization", "fp8");
  if (drafts(d))
    a.add("--speculative-config", fmt::format(R"({{"method": "mtp", "num_speculative_tokens": {}}})", d.draft_tokens));
  if (role != Role::kAll) a.add("--kv-transfer-config", R"({"kv_connector": "NixlConnector", "kv_role": "kv_both"})");
  a.add("--max-num-batched-tokens", chunk_of(load, s.engine));
  // Its own default is 256 below 70 GiB.
  a.add("--max-num-seqs", load.most_sequences > 0 ? load.most_sequences : Scheduler{}.most_sequences);
  a.add("--max-model-len", longest(load));
  a.add("--gpu-memory-utilization", memory_rule(s.engine).share);
  return {.program = {"vllm", "serve", model}, .arguments = std::move(a.all)};
}

Launch sglang_launch(const Deployment& d, const Serving& s, const std::string& model, const Load& load, Role role) {
  Arguments a;
  a.add("--tp-size", s.parallel.tensor * s.parallel.data);
  a.add_above(1, "--pp-size", s.parallel.pipeline);
  a.add_above(1, "--attn-dp-size", s.parallel.data);
  a.add_above(1, "--ep-size", s.parallel.expert);
  add_dtype(a, d);
  if (d.cache_bits <= 8) a.add("--kv-cache-dtype", "fp8_e4m3");
  if (quantised_on_load(d, s)) a.add("--quantization", "fp8");
  if (drafts(d)) {
    a.add("--speculative-algorithm", "NEXTN");
    a.add("--speculative-num-steps", d.draft_tokens);
    a.add("--speculative-eagle-topk", 1);
    a.add("--speculative-num-draft-tokens", d.draft_tokens + 1);
  }
  if (role != Role::kAll) a.add("--disaggregation-mode", role == Role::kPrefill ? "prefill" : "decode");
  // SGLang divides both among the replicas of attention.
  a.add("--chunked-prefill-size", chunk_of(load, s.engine) * s.parallel.data);
  a.add_above(0, "--max-running-requests", load.most_sequences * s.parallel.data);
  a.add_above(1, "--scheduler-recv-interval", load.receive_interval);
  a.add("--context-length", longest(load));
  a.add("--mem-fraction-static", memory_rule(s.engine).share);
  return {.program = {"sglang", "serve", "--model-path", model}, .arguments = std::move(a.all)};
}

// Prompts wait until a step is well filled, with replicas of attention until each has one.
std::string trtllm_waits(const Serving& s, const Load& load) {
  if (load.batch_wait_steps == 0) return {};
  if (s.parallel.data > 1)
    return fmt::format("attention_dp_config:\n  enable_balance: true\n  timeout_iters: {}\n  batching_wait_iters: 0\n",
                       load.batch_wait_steps);
  return fmt::format("batch_wait_timeout_iters: {}\nbatch_wait_max_tokens_ratio: {:g}\n", load.batch_wait_steps,
                     load.batch_wait_share);
}

Launch trtllm_launch(const Deployment& d, const Serving& s, const std::string& model, const Load& load, Role role) {
  const double share = memory_rule(s.engine).share_of_rest;
  Arguments a;
  a.add("--tp_size", s.parallel.tensor * s.parallel.data);
  a.add_above(1, "--pp_size", s.parallel.pipeline);
  a.add_above(1, "--ep_size", s.parallel.expert);
  a.add_above(0, "--max_batch_size", load.most_sequences);
  a.add("--max_num_tokens", chunk_of(load, s.engine));
  a.add("--max_seq_len", longest(load));
  a.add("--kv_cache_free_gpu_memory_fraction", share);
  std::string options;
  if (s.parallel.data > 1) options += "enable_attention_dp: true\n";
  if (role == Role::kAll) options += trtllm_waits(s, load);
  if (role != Role::kAll) options += "cache_transceiver_config:\n  backend: DEFAULT\n";
  if (role == Role::kPrefill) options += "disable_overlap_scheduler: true\n";
  // The file's kv_cache_config takes the place of that of the flags.
  if (d.cache_bits <= 8)
    options += fmt::format("kv_cache_config:\n  dtype: fp8\n  free_gpu_memory_fraction: {}\n", share);
  if (drafts(d))
    options +=
        fmt::format("speculative_config:\n  decoding_type: MTP\n  num_nextn_predict_layers: {}\n", d.draft_tokens);
  return {.program = {"trtllm-serve", "serve", model}, .arguments = std::move(a.all), .options = std::move(options)};
}

std::string indented(const std::string& text, const std::string& by) {
  std::string all;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    all += by + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return all;
}

// A name of Kubernetes (RFC 1035) from a model's: "meta-llama/Llama-3.1-8B" → "llama-3-1-8b".
std::string resource_name(const std::string& model) {
  std::string name;
  const size_t end = model.find_last_not_of('/');
  const size_t slash = end == std::string::npos ? end : model.rfind('/', end);
  for (const char c : lower_case(model.substr(slash == std::string::npos ? 0 : slash + 1)))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name.front()))) name.insert(0, "llm-");
  name.resize(std::min<size_t>(name.size(), 50));
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// One line each, quoted as JSON, which YAML reads too.
std::string words_of(const std::vector<std::string>& words, const std::string& by) {
  std::string text;
  for (const std::string& word : words) text += by + "- " + Json(word).dump() + "\n";
  return text;
}

// GB200 and GB300 have four GPUs on a node's board, HGX boards eight.
int64_t gpus_per_node(const std::string& gpu) { return gpu.starts_with("GB") ? 4 : 8; }

// Where the model's files are: a claim for a path, else a folder that the engine downloads to.
struct ModelVolume {
  std::string mount, volume;
};
ModelVolume volume_of(const std::string& model, const std::string& name) {
  if (model.starts_with('/'))
    return {fmt::format("            - {{name: model, mountPath: {}, readOnly: true}}\n", Json(model).dump()),
            fmt::format("        - name: model\n          persistentVolumeClaim: {{claimName: {}-model}}\n", name)};
  return {"            - {name: model, mountPath: /models}\n", "        - {name: model, emptyDir: {}}\n"};
}

}  // namespace

const EngineProgram& program_of(EngineKind engine) { return kPrograms[static_cast<size_t>(engine)]; }

Launch launch_of(const Deployment& d, const Serving& serving, const std::string& model, const Load& load, Role role) {
  Serving s = serving;
  if (role == Role::kPrefill) s.parallel = s.prefill->parallel;
  Launch launch = s.engine == EngineKind::kVllm       ? vllm_launch(d, s, model, load, role)
                  : s.engine == EngineKind::kSglang   ? sglang_launch(d, s, model, load, role)
                  : s.engine == EngineKind::kLlamaCpp ? llamacpp_launch(d, s, model, load)
                                                      : trtllm_launch(d, s, model, load, role);
  launch.notes = notes_of(d, s);
  return launch;
}

std::string product_label(std::string_view gpu) {
  // Names that nodes carry, where they do not follow from the catalogue's.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kLabels = {{
      {"Tesla V100 SXM2 16GB", "Tesla-V100-SXM2-16GB"},
      {"Tesla V100 SXM2 32GB", "Tesla-V100-SXM2-32GB"},
      {"Tesla V100 PCIe 16GB", "Tesla-V100-PCIE-16GB"},
      {"Tesla V100 PCIe 32GB", "Tesla-V100-PCIE-32GB"},
      {"Tesla T4", "Tesla-T4"},
      {"A100 SXM4 40GB", "NVIDIA-A100-SXM4-40GB"},
      {"A100 SXM4 80GB", "NVIDIA-A100-SXM4-80GB"},
      {"A100 PCIe 40GB", "NVIDIA-A100-PCIE-40GB"},
      {"A100 PCIe 80GB", "NVIDIA-A100-80GB-PCIe"},
      {"A30", "NVIDIA-A30"},
      {"A10", "NVIDIA-A10"},
      {"A10G", "NVIDIA-A10G"},
      {"A40", "NVIDIA-A40"},
      {"A2", "NVIDIA-A2"},
      {"L4", "NVIDIA-L4"},
      {"L40", "NVIDIA-L40"},
      {"L40S", "NVIDIA-L40S"},
      {"H100 SXM5 80GB", "NVIDIA-H100-80GB-HBM3"},
      {"H100 PCIe 80GB", "NVIDIA-H100-PCIe"},
      {"H100 NVL 94GB", "NVIDIA-H100-NVL"},
      {"H200 SXM 141GB", "NVIDIA-H200"},
      {"H200 NVL 141GB", "NVIDIA-H200-NVL"},
      {"H20 96GB", "NVIDIA-H20"},
      {"B200 SXM 180GB", "NVIDIA-B200"},
      {"B300 SXM 288GB", "NVIDIA-B300-SXM6-AC"},
      {"GB200 (per GPU)", "NVIDIA-GB200"},
      {"GB300 (per GPU)", "NVIDIA-GB300"},
  }};
  gpu = gpu.substr(0, gpu.find(" (cuda:"));  // one of this machine
  const auto known = std::find_if(kLabels.begin(), kLabels.end(), [&](const auto& row) { return row.first == gpu; });
  if (known != kLabels.end()) return std::string(known->second);
  // "NVIDIA TITAN RTX": a GPU of this machine that the catalogue does not know has the driver's name.
  if (!gpu.starts_with("GeForce") && !gpu.starts_with("NVIDIA ")) return {};
  std::string label = (gpu.starts_with("NVIDIA ") ? "" : "NVIDIA-") + std::string(gpu);
  std::replace(label.begin(), label.end(), ' ', '-');
  return label;
}

Result<std::string> manifest_of(const Launch& launch, const Serving& s, const std::string& model,
                                const std::string& remark) {
  if (s.prefill)
    return Error{Code::kUnsupported,
                 fmt::format("the best way has prefill workers beside decode workers, and no manifest is written for "
                             "both and their router ({}); give --deployment aggregated",
                             program_of(s.engine).router)};
  const int64_t gpus = s.parallel.gpus();
  if (gpus > gpus_per_node(s.gpu))
    return Error{Code::kUnsupported,
                 fmt::format("a replica has {} GPUs, but a node with {} has {}: a pod cannot span nodes; plan with "
                             "--gpus {}",
                             gpus, s.gpu, gpus_per_node(s.gpu), gpus_per_node(s.gpu))};
  const EngineProgram& engine = program_of(s.engine);
  const std::string name = resource_name(model), label = product_label(s.gpu);
  std::vector<std::string> arguments = launch.arguments;
  arguments.insert(arguments.end(), {"--host", "0.0.0.0", "--port", "8000"});
  ModelVolume files = volume_of(model, name);
  std::string text = fmt::format("# {}\n", remark);
  for (const std::string& note : launch.notes) text += fmt::format("# {}\n", note);
  if (!launch.options.empty()) {
    arguments.insert(arguments.end(), {std::string(engine.file_flag), fmt::format("/options/{}", kOptionsFile)});
    files.mount += "            - {name: options, mountPath: /options, readOnly: true}\n";
    files.volume += fmt::format("        - {{name: options, configMap: {{name: {}-options}}}}\n", name);
    text += fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}-options\ndata:\n  {}: |\n{}---\n", name,
                        kOptionsFile, indented(launch.options, "    "));
  }
  if (label.empty()) text += fmt::format("# No label of {} is known: any node with GPUs is taken.\n", s.gpu);
  const std::string probe =
      fmt::format("httpGet: {{path: {}, port: http}}\n            periodSeconds: 10\n            timeoutSeconds: {}\n",
                  engine.health, engine.health_timeout_s);
  text += fmt::format(R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: {0}
  labels: {{app.kubernetes.io/name: {0}}}
spec:
  replicas: {1}
  # A pod's GPUs are free only when it has gone.
  strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 0, maxUnavailable: 1}}}}
  selector:
    matchLabels: {{app.kubernetes.io/name: {0}}}
  template:
    metadata:
      labels: {{app.kubernetes.io/name: {0}}}
    spec:
)",
                      name, s.replicas);
  if (!label.empty()) text += fmt::format("      nodeSelector: {{nvidia.com/gpu.product: {}}}\n", label);
  text += fmt::format(R"(      tolerations:
        - {{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}
      # Fits the Pod Security Standard `restricted`. Engines' images run as root unless told otherwise: the user )"
                      R"(needs a home and a name.
      securityContext: {{runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: {{type: RuntimeDefault}}}}
      containers:
        - name: {0}
          image: {1}
          securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
          command:
{2}          args:
{3}          env:
            - {{name: HOME, value: /tmp}}
            - {{name: USER, value: engine}}
            - {{name: HF_HOME, value: /models}}
            # For models that ask for a licence; a secret of that name may be missing.
            - {{name: HF_TOKEN, valueFrom: {{secretKeyRef: {{name: huggingface, key: token, optional: true}}}}}}
          ports:
            - {{name: http, containerPort: 8000}}
          resources:
            limits: {{nvidia.com/gpu: {4}}}
          # Until the weights are loaded and the graphs captured: up to an hour.
          startupProbe:
            {5}            failureThreshold: 360
          readinessProbe:
            {5}          volumeMounts:
            - {{name: shared-memory, mountPath: /dev/shm}}
{6}      volumes:
        # The GPUs' processes exchange data by shared memory; a container has 64 MB unless told otherwise.
        - {{name: shared-memory, emptyDir: {{medium: Memory, sizeLimit: 16Gi}}}}
{7}---
apiVersion: v1
kind: Service
metadata:
  name: {8}
  labels: {{app.kubernetes.io/name: {8}}}
spec:
  selector: {{app.kubernetes.io/name: {8}}}
  ports:
    - {{name: http, port: 8000, targetPort: http}}
)",
                      engine.name, engine.image, words_of(launch.program, "            "),
                      words_of(arguments, "            "), gpus, probe, files.mount, files.volume, name);
  return text;
}

}  // namespace ridge::llm
