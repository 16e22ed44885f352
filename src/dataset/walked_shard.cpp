#include <fmt/format.h>
#include <openssl/evp.h>
#include <algorithm>
#include <dataset/walked_shard.hpp>

namespace framewire::dataset {
namespace {

constexpr std::size_t kWalkedPieceBytes = 1u << 20;

}  // namespace

void WalkedShard::FreeDigest::operator()(EVP_MD_CTX* digest) const noexcept {
  ::EVP_MD_CTX_free(digest);
}

WalkedShard::WalkedShard(ShardInput& shard, bool digest) : shard_(shard) {
  if (!digest) return;
  digest_.reset(::EVP_MD_CTX_new());
  refused_ = digest_ == nullptr || ::EVP_DigestInit_ex(digest_.get(), EVP_md5(), nullptr) != 1;
  piece_.resize(kWalkedPieceBytes);
}

WalkedShard::~WalkedShard() = default;

Result<std::size_t> WalkedShard::read_at(std::uint64_t offset, std::span<std::uint8_t> into) {
  if (digest_ != nullptr) {
    if (auto read = read_up_to(std::min(offset, shard_.bytes())); !read) return fail(read.error());
  }
  shard_.read_ahead(offset);
  return shard_.read_at(offset, into);
}

Result<void> WalkedShard::read_up_to(std::uint64_t end) {
  while (done_ < end) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(end - done_, piece_.size()));
    shard_.read_ahead(done_);
    const auto got = shard_.read_at(done_, std::span(piece_).first(some));
    if (!got) return fail(got.error());
    if (*got != some) {
      return fail(Status(StatusCode::kIoError, "has become shorter while it was read")
                      .about(shard_.path()));
    }
    if (!refused_) ::EVP_DigestUpdate(digest_.get(), piece_.data(), some);
    done_ += some;
    shard_.release_before(done_);
  }
  return {};
}

Result<std::string> WalkedShard::md5() {
  if (auto read = read_up_to(shard_.bytes()); !read) return fail(read.error());
  if (refused_) return fail(StatusCode::kInternal, "this OpenSSL gives no MD5");
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  ::EVP_DigestFinal_ex(digest_.get(), out, &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", out[i]);
  return text;
}

}  // namespace framewire::dataset
