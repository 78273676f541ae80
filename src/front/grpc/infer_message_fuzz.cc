// Any bytes are either a ModelInferRequest or an error, however they are cut into pieces. The first byte chooses the
// pieces. The decoded request says what protobuf's own reader says, stays within its memory, and is answered by a
// message that protobuf reads.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "front/fake_service.h"
#include "front/grpc/infer_message.h"
#include "front/grpc/message_coding.h"
#include "grpc_service.pb.h"

using namespace ridge;
using namespace ridge::front;
using namespace ridge::front::grpc;

namespace {

MessageBytes cut(const std::shared_ptr<const std::string>& text, size_t piece) {
  MessageBytes message{{}, text->size(), text};
  const auto bytes = std::as_bytes(std::span(*text));
  for (size_t begin = 0; begin < bytes.size(); begin += piece)
    message.pieces.push_back(bytes.subspan(begin, std::min(piece, bytes.size() - begin)));
  return message;
}

void check_same(const serve::InferRequest& a, const serve::InferRequest& b) {
  if (a.model != b.model || a.version != b.version || a.id != b.id || a.priority != b.priority ||
      a.timeout != b.timeout || a.sequence.id != b.sequence.id || a.sequence.start != b.sequence.start ||
      a.sequence.end != b.sequence.end || a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
    std::abort();
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const serve::RequestInput &x = a.inputs[i], &y = b.inputs[i];
    if (x.name != y.name || x.type != y.type || x.shape != y.shape || x.part.has_value() != y.part.has_value() ||
        !std::equal(x.data.begin(), x.data.end(), y.data.begin(), y.data.end()))
      std::abort();
  }
}

void check_against_protobuf(const serve::InferRequest& request, const std::string& text) {
  inference::ModelInferRequest theirs;
  if (!theirs.ParseFromString(text)) return;  // its strings must be UTF-8
  if (theirs.model_name() != request.model || theirs.id() != request.id ||
      static_cast<size_t>(theirs.inputs_size()) != request.inputs.size() ||
      static_cast<size_t>(theirs.outputs_size()) != request.outputs.size())
    std::abort();
  int raw = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const serve::RequestInput& input = request.inputs[i];
    const auto& their = theirs.inputs(static_cast<int>(i));
    if (their.name() != input.name || static_cast<size_t>(their.shape_size()) != input.shape.size()) std::abort();
    if (input.part || theirs.raw_input_contents_size() == 0) continue;
    const std::string& contents = theirs.raw_input_contents(raw++);
    if (contents != std::string(reinterpret_cast<const char*>(input.data.data()), input.data.size())) std::abort();
  }
}

void check_answer(const serve::InferRequest& request) {
  const serve::InferResponse answer = FakeService::echo(request);
  for (AnswerKind kind : {AnswerKind::kUnary, AnswerKind::kStream}) {
    Result<AnswerParts> parts = encode_infer_response(answer, output_regions(request), kind);
    if (!parts) std::abort();
    std::string text;
    for (const http::SentPart& part : *parts)
      text.append(part.text).append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    inference::ModelInferResponse unary;
    inference::ModelStreamInferResponse stream;
    if (kind == AnswerKind::kUnary ? !unary.ParseFromString(text) : !stream.ParseFromString(text)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static BodyPool bodies(nullptr);
  const auto text = std::make_shared<const std::string>(reinterpret_cast<const char*>(data + 1), size - 1);
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate})
    static_cast<void>(unpacked(cut(text, size_t{data[0]} + 1), coding, {1 << 16}, bodies));
  std::string id, id_of_pieces;
  has_long_contents(cut(text, size_t{data[0]} + 1), 16);
  Result<serve::InferRequest> whole = decode_infer_request(cut(text, std::max<size_t>(1, text->size())), bodies, id);
  Result<serve::InferRequest> pieces = decode_infer_request(cut(text, size_t{data[0]} + 1), bodies, id_of_pieces);
  if (whole.ok() != pieces.ok() || id != id_of_pieces) std::abort();
  if (!whole) {
    if (whole.error().message.empty() || whole.error().message != pieces.error().message) std::abort();
    return 0;
  }
  check_same(*whole, *pieces);
  check_against_protobuf(*whole, *text);
  check_answer(*whole);
  return 0;
}
