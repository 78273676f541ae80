#include "front/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <string_view>

#include "base/file.h"

namespace ridge::front {
namespace {

constexpr int64_t kLargestPem = 1 << 20;  // [bytes]; a system's bundle of authorities has a quarter

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, Free>;
using CertificatePtr = std::unique_ptr<X509, Free>;
using PrivateKeyPtr = std::unique_ptr<EVP_PKEY, Free>;

// OpenSSL's reason for the last failure. It never quotes what was read.
std::string openssl_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "no reason given";
}

Result<std::string> read_pem(const char* option, const std::string& file) {
  Result<std::string> text = read_file(file, kLargestPem);
  if (!text) return wrap(std::move(text).error(), option);
  return text;
}

Error unfit(const char* option, const std::string& file, const std::string& why) {
  return invalid(std::string(option) + " '" + file + "': " + why);
}

BioPtr memory_of(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// The next certificate of a PEM text; null: there is none.
CertificatePtr next_certificate(BIO& pem) {
  CertificatePtr certificate(PEM_read_bio_X509(&pem, nullptr, nullptr, nullptr));
  if (!certificate && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) ERR_clear_error();
  return certificate;
}

std::string text_of(const ASN1_TIME* time) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(out.get(), time);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

Status check_dates(const X509& certificate, const std::string& file) {
  const ASN1_TIME *first = X509_get0_notBefore(&certificate), *last = X509_get0_notAfter(&certificate);
  if (X509_cmp_current_time(last) < 0)
    return unfit("--tls-cert", file, "the certificate expired on " + text_of(last) + "; renew it");
  if (X509_cmp_current_time(first) > 0)
    return unfit("--tls-cert", file, "the certificate is valid from " + text_of(first) + " on; is the clock right?");
  return {};
}

Status use_certificate(SSL_CTX& context, const std::string& file, const std::string& pem) {
  const BioPtr text = memory_of(pem);
  const CertificatePtr own = next_certificate(*text);
  if (!own) {
    const bool damaged = ERR_peek_last_error() != 0;
    return unfit("--tls-cert", file,
                 damaged ? "the certificate cannot be read: " + openssl_reason()
                         : "no certificate in PEM is in it (a line -----BEGIN CERTIFICATE-----)");
  }
  RIDGE_TRY(check_dates(*own, file));
  if (SSL_CTX_use_certificate(&context, own.get()) != 1)
    return unfit("--tls-cert", file, "OpenSSL does not take the certificate: " + openssl_reason());
  while (const CertificatePtr issuer = next_certificate(*text))
    if (SSL_CTX_add1_chain_cert(&context, issuer.get()) != 1)
      return unfit("--tls-cert", file, "OpenSSL does not take a certificate of the chain: " + openssl_reason());
  if (ERR_peek_last_error() != 0)
    return unfit("--tls-cert", file, "a certificate of the chain cannot be read: " + openssl_reason());
  return {};
}

// A server cannot ask for a password.
int note_question(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Status use_key(SSL_CTX& context, const std::string& file, const std::string& pem) {
  bool encrypted = false;
  const PrivateKeyPtr key(PEM_read_bio_PrivateKey(memory_of(pem).get(), nullptr, note_question, &encrypted));
  if (encrypted) {
    ERR_clear_error();
    return unfit("--tls-key", file,
                 "the key is encrypted; write it without a password: openssl pkey -in FILE -out NEW");
  }
  if (!key) {
    ERR_clear_error();
    return unfit("--tls-key", file, "no private key in PEM is in it (a line -----BEGIN PRIVATE KEY-----)");
  }
  if (SSL_CTX_use_PrivateKey(&context, key.get()) == 1 && SSL_CTX_check_private_key(&context) == 1) return {};
  ERR_clear_error();
  return unfit("--tls-key", file, "the key is not that of the first certificate in --tls-cert");
}

Status use_client_ca(SSL_CTX& context, const std::string& file, const std::string& pem) {
  const BioPtr text = memory_of(pem);
  int count = 0;
  for (; const CertificatePtr authority = next_certificate(*text); ++count)
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(&context, authority.get()) != 1)
      return unfit("--tls-client-ca", file, "OpenSSL does not take a certificate: " + openssl_reason());
  if (ERR_peek_last_error() != 0)
    return unfit("--tls-client-ca", file, "a certificate cannot be read: " + openssl_reason());
  if (count == 0)
    return unfit("--tls-client-ca", file, "no certificate in PEM is in it (a line -----BEGIN CERTIFICATE-----)");
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

// Chooses the protocol of the port that the client offers (Stream says which); a client that offers none of these may
// try all the same.
int choose_protocol(SSL* session, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  const auto* text = static_cast<const char*>(SSL_get_app_data(session));
  const auto* ours = reinterpret_cast<const unsigned char*>(text);
  const auto ours_size = static_cast<unsigned int>(std::string_view(text).size());
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, ours, ours_size, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

std::shared_ptr<SSL_CTX> new_context() {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);                           // one system call per record, not two
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);  // tickets resume sessions
  constexpr unsigned char kSessions[] = "ridge";                      // required where clients have certificates
  SSL_CTX_set_session_id_context(context.get(), kSessions, sizeof kSessions - 1);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

}  // namespace

Result<TlsMaterial> read_tls(const TlsFiles& files) {
  TlsMaterial material;
  RIDGE_ASSIGN(const std::string certificate, read_pem("--tls-cert", files.certificate));
  RIDGE_ASSIGN(const std::string key, read_pem("--tls-key", files.key));
  ERR_clear_error();
  material.context = new_context();
  if (!material.context) return Error{Code::kFailed, "OpenSSL gave no context for TLS: " + openssl_reason()};
  RIDGE_TRY(use_certificate(*material.context, files.certificate, certificate));
  RIDGE_TRY(use_key(*material.context, files.key, key));
  if (!files.client_ca.empty()) {
    RIDGE_ASSIGN(const std::string authorities, read_pem("--tls-client-ca", files.client_ca));
    RIDGE_TRY(use_client_ca(*material.context, files.client_ca, authorities));
  }
  return material;
}

Result<std::shared_ptr<Tls>> open_tls(const TlsFiles& files) {
  std::vector<std::string> watched{files.certificate, files.key};
  if (!files.client_ca.empty()) watched.push_back(files.client_ca);
  Result<std::shared_ptr<Tls>> tls =
      Tls::open("the files of TLS", std::move(watched), [files] { return read_tls(files); });
  if (tls) warn_of_readers("the key (--tls-key)", files.key);
  return tls;
}

}  // namespace ridge::front
