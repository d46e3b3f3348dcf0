"""Every subscription against every live message: what all other kernels have to agree with."""

from __future__ import annotations

from nearcast.kernels.jit import kernel
from nearcast.kernels.score import blend, spatial_similarity, textual_similarity


@kernel
def rank_all(
    radius, max_dist, s_points, s_alpha, s_k, s_spans, s_terms, s_weights,
    m_points, m_spans, m_terms, m_weights, first, first_seq, seqs, scores, counts,
):  # fmt: skip
    """Write the list of subscription i to the first `counts[i]` places of `seqs[i]` and `scores[i]`, best first.

    Messages from row `first` on are live, the row `first` is message `first_seq`. They are tried from the newest to the
    oldest and enter only in front of a lower score: of equal scores the newer message stays ahead.
    """
    for i in range(len(s_alpha)):
        count = 0
        for j in range(len(m_points) - 1, first - 1, -1):
            tsim = textual_similarity(
                s_terms, s_weights, s_spans[i], s_spans[i + 1], m_terms, m_weights, m_spans[j], m_spans[j + 1]
            )
            if tsim < 0.0:
                continue
            s, m = s_points[i], m_points[j]
            ssim = spatial_similarity(radius, max_dist, s[0], s[1], s[2], m[0], m[1], m[2])
            score = blend(s_alpha[i], ssim, tsim)
            at = count
            while at > 0 and scores[i, at - 1] < score:
                at -= 1
            if at >= s_k[i]:
                continue
            count = min(count + 1, s_k[i])
            for place in range(count - 1, at, -1):
                seqs[i, place] = seqs[i, place - 1]
                scores[i, place] = scores[i, place - 1]
            seqs[i, at] = first_seq + j - first
            scores[i, at] = score
        counts[i] = count


@kernel
def score_parts(radius, max_dist, alpha, s_point, s_terms, s_weights, m_point, m_terms, m_weights):
    """SSim, TSim (-1: no common word) and score of one subscription and one message."""
    s, m = s_point, m_point
    ssim = spatial_similarity(radius, max_dist, s[0], s[1], s[2], m[0], m[1], m[2])
    tsim = textual_similarity(s_terms, s_weights, 0, len(s_terms), m_terms, m_weights, 0, len(m_terms))
    return ssim, tsim, blend(alpha, ssim, max(tsim, 0.0))
