#include <fmt/format.h>
#include <algorithm>
#include <service/url/source.hpp>
#include <service/url/text.hpp>
#include <service/url/values.hpp>
#include <utility>

namespace framewire::service::url {
namespace {

tl::unexpected<Status> bad_replacement(std::string_view definition, std::string_view problem) {
  return fail(
      Status(StatusCode::kInvalidInput, fmt::format("found {}: {}", quoted(definition), problem))
          .about("url-replacements"));
}

constexpr std::size_t kNowhere = std::string::npos;

// Whether and where literals i, i + 1, … can lie behind one another: for each start of literal i
// the last possible start of literal i + 1 (that makes the star between them as long as can be),
// and kNowhere where the rest cannot match. Filled from the last literal to the first, so that each
// start is looked at once and no pattern makes the search go back.
using Starts = std::vector<std::size_t>;

Starts starts_of_last(std::string_view url, std::string_view literal) {
  Starts starts(url.size() + 1, kNowhere);
  for (std::size_t at = 0; at <= url.size(); ++at) {
    if (url.substr(at).starts_with(literal)) starts[at] = at;
  }
  return starts;
}

Starts starts_before(std::string_view url, std::string_view literal, const Starts& next) {
  // The last start of the next literal that a run without a slash reaches from each place.
  Starts reached(url.size() + 1, kNowhere);
  for (std::size_t at = url.size() + 1; at-- > 0;) {
    const bool goes_on = at < url.size() && url[at] != '/';
    if (goes_on) reached[at] = reached[at + 1];
    if (reached[at] == kNowhere && next[at] != kNowhere) reached[at] = at;
  }
  Starts starts(url.size() + 1, kNowhere);
  for (std::size_t at = 0; at <= url.size(); ++at) {
    if (url.substr(at).starts_with(literal)) starts[at] = reached[at + literal.size()];
  }
  return starts;
}

}  // namespace

Result<Replacement> Replacement::make(std::string_view definition) {
  const std::size_t equals = definition.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return bad_replacement(definition, "accepted: PATTERN=REPLACEMENT");
  }
  Replacement made;
  for (const std::string_view literal : split(definition.substr(0, equals), "*")) {
    made.literals_.emplace_back(literal);
  }
  const std::size_t stars = made.literals_.size() - 1;
  if (stars > kMaxStars) {
    return bad_replacement(definition, fmt::format("accepted: at most {} stars", kMaxStars));
  }
  made.pieces_.emplace_back();
  for (std::string_view rest = definition.substr(equals + 1); !rest.empty();) {
    const std::size_t dollar = rest.find('$');
    made.pieces_.back().text += rest.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    rest.remove_prefix(dollar);
    if (rest.starts_with("$$")) {
      made.pieces_.back().text += '$';
      rest.remove_prefix(2);
      continue;
    }
    const std::size_t end = rest.find('}');
    std::optional<std::int64_t> group;
    if (rest.starts_with("${") && end != std::string_view::npos) {
      group = read_integer(rest.substr(2, end - 2), 1, static_cast<std::int64_t>(stars));
    }
    if (!group) {
      return bad_replacement(definition,
                             "accepted after $: {N} with the number of a star, or another $");
    }
    made.pieces_.push_back({"", static_cast<std::size_t>(*group)});
    rest.remove_prefix(end + 1);
  }
  return made;
}

// The starts of all literals, and the end of the last.
std::optional<std::vector<std::size_t>> Replacement::match(std::string_view url) const {
  if (!url.starts_with(literals_.front())) return std::nullopt;
  std::vector<Starts> next(literals_.size());
  next.back() = starts_of_last(url, literals_.back());
  for (std::size_t i = literals_.size() - 1; i-- > 0;) {
    next[i] = starts_before(url, literals_[i], next[i + 1]);
  }
  if (next.front().front() == kNowhere) return std::nullopt;
  std::vector<std::size_t> at = {0};
  for (std::size_t i = 0; i + 1 < literals_.size(); ++i) at.push_back(next[i][at.back()]);
  at.push_back(at.back() + literals_.back().size());
  return at;
}

std::string Replacement::apply(std::string_view url) const {
  const auto at = match(url);
  if (!at) return std::string(url);
  std::string out;
  for (const Piece& piece : pieces_) {
    if (piece.group != 0) {
      const std::size_t begin = (*at)[piece.group - 1] + literals_[piece.group - 1].size();
      out += url.substr(begin, (*at)[piece.group] - begin);
    }
    out += piece.text;
  }
  out += url.substr(at->back());
  return out;
}

}  // namespace framewire::service::url
