"""Token formats of many services, from their documentation and public pattern lists.

Most formats are also listed by gitleaks (https://github.com/gitleaks/gitleaks, MIT). Each has a
distinctive prefix, so a token is recognized without a name such as `api_key` next to it.
"""

# ruff: noqa: E501 (a pattern broken over lines is harder to read than a long one)

# The rule's id, the texts of which one must occur, and the pattern.
VENDOR_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("airtable-token", ("pat",), r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    ("alibaba-key", ("LTAI",), r"\bLTAI[A-Za-z0-9]{17,21}\b"),
    ("asana-token", ("1/", "2/"), r"\b[12]/\d{16}(?:/\d{16})?:[a-f0-9]{32}\b"),
    ("atlassian-token", ("ATATT3", "ATCTT3", "ATBB"), r"\bAT[AC]TT3[A-Za-z0-9_=-]{60,400}|\bATBB[A-Za-z0-9]{32}\b"),
    ("azure-client-secret", ("Q~",), r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    ("brevo-key", ("xkeysib-", "xsmtpsib-"), r"\bx(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    ("buildkite-token", ("bkua_",), r"\bbkua_[a-f0-9]{40}\b"),
    ("cerebras-key", ("csk-",), r"\bcsk-[a-z0-9]{48}\b"),
    ("circleci-token", ("CCIPAT_", "CCIPRJ_"), r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{10,30}_[a-f0-9]{40}\b"),
    ("clojars-token", ("CLOJARS_",), r"\bCLOJARS_[a-z0-9]{60}\b"),
    ("cloudflare-key", ("v1.0-",), r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    ("contentful-token", ("CFPAT-",), r"\bCFPAT-[A-Za-z0-9_-]{43}"),
    ("databricks-token", ("dapi",), r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    ("discord-webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,80})"),
    ("docker-token", ("dckr_",), r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    ("doppler-token", ("dp.",), r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b"),
    ("dropbox-token", ("sl.",), r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{130,1200}"),
    ("dynatrace-token", ("dt0c01.", "dt0s01."), r"\bdt0[cs]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    ("figma-token", ("figd_", "figu_"), r"\bfig[du]_[A-Za-z0-9_-]{38,60}"),
    ("fly-token", ("fo1_", "fm1r_", "fm1a_", "fm2_"), r"\bfo1_[A-Za-z0-9_-]{43}|\bfm(?:1r|1a|2)_[A-Za-z0-9+/]{100,2000}={0,3}"),
    ("grafana-token", ("glsa_", "glc_"), r"\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b|\bglc_[A-Za-z0-9+/]{32,400}={0,3}"),
    ("groq-key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{52}\b"),
    ("heroku-key", ("HRKU-",), r"\bHRKU-[A-Za-z0-9_-]{36,64}"),
    ("hubspot-token", ("pat-",), r"\bpat-(?:na|eu|ap)\d-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}\b"),
    ("infracost-key", ("ico-",), r"\bico-[A-Za-z0-9]{32}\b"),
    ("jfrog-key", ("AKCp",), r"\bAKCp[A-Za-z0-9]{69}\b"),
    ("langsmith-key", ("lsv2_",), r"\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b"),
    ("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), r"\blin_(?:api|wh)_[A-Za-z0-9]{40}\b|\blin_oauth_[a-f0-9]{64}\b"),
    ("mailchimp-key", ("-us",), r"\b[a-f0-9]{32}-us\d{1,2}\b"),
    ("mailgun-key", ("key-",), r"\b(?:pub)?key-[a-f0-9]{32}\b"),
    ("netlify-token", ("nfp_", "nfc_"), r"\bnf[pc]_[A-Za-z0-9_]{36,46}\b"),
    ("new-relic-key", ("NRAK-", "NRJS-", "NRII-", "FFFFNRAL"), r"\bNRAK-[A-Z0-9]{27}\b|\bNRJS-[a-f0-9]{19}\b|\bNRII-[A-Za-z0-9_-]{32}|\b[a-f0-9]{32}FFFFNRAL\b"),
    ("notion-token", ("ntn_",), r"\bntn_\d{11}[A-Za-z0-9]{35}\b"),
    ("nvidia-key", ("nvapi-",), r"\bnvapi-[A-Za-z0-9_-]{60,80}"),
    ("one-password-token", ("ops_eyJ", "A3-"), r"\bops_eyJ[A-Za-z0-9+/_-]{200,4000}={0,2}|\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b"),
    ("openshift-token", ("sha256~",), r"\bsha256~[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    ("perplexity-key", ("pplx-",), r"\bpplx-[A-Za-z0-9]{48}\b"),
    ("pinecone-key", ("pcsk_",), r"\bpcsk_[A-Za-z0-9]{4,10}_[A-Za-z0-9]{50,80}\b"),
    ("planetscale-token", ("pscale_",), r"\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{32,64}"),
    ("postman-key", ("PMAK-",), r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    ("prefect-key", ("pnu_",), r"\bpnu_[A-Za-z0-9]{36}\b"),
    ("pulumi-token", ("pul-",), r"\bpul-[a-f0-9]{40}\b"),
    ("readme-key", ("rdme_",), r"\brdme_[a-z0-9]{70}\b"),
    ("replicate-token", ("r8_",), r"\br8_[A-Za-z0-9]{37}\b"),
    ("rubygems-key", ("rubygems_",), r"\brubygems_[a-f0-9]{48}\b"),
    ("sentry-token", ("sntrys_", "sntryu_"), r"\bsntryu_[a-f0-9]{64}\b|\bsntrys_eyJ[A-Za-z0-9+/=]{40,600}_[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/])"),
    ("shippo-token", ("shippo_",), r"\bshippo_(?:live|test)_[a-f0-9]{40}\b"),
    ("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_"), r"\bshp(?:at|ca|pa|ss|tka)_[A-Fa-f0-9]{32}\b"),
    ("sonar-token", ("squ_", "sqp_", "sqa_"), r"\bsq[upa]_[a-f0-9]{40}\b"),
    ("square-token", ("sq0", "EAAA"), r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,60}|\bEAAA[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])"),
    ("stripe-webhook-secret", ("whsec_",), r"\bwhsec_[A-Za-z0-9+/]{32,64}={0,2}"),
    ("supabase-key", ("sbp_", "sb_secret_"), r"\bsbp_(?:oauth_)?[a-f0-9]{40}\b|\bsb_secret_[A-Za-z0-9_-]{31}(?![A-Za-z0-9_-])"),
    ("tailscale-key", ("tskey-",), r"\btskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{20,50}\b"),
    ("tavily-key", ("tvly-",), r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{32}\b"),
    ("terraform-token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    ("twilio-key", ("SK", "AC"), r"\bSK[a-f0-9]{32}\b|\bAC[a-f0-9]{32}:[a-f0-9]{32}\b"),
    ("typeform-token", ("tfp_",), r"\btfp_[A-Za-z0-9_.-]{59}"),
    ("xai-key", ("xai-",), r"\bxai-[A-Za-z0-9_-]{70,120}"),
)  # fmt: skip
# A bot's token has no prefix, so it must look random as well.
DISCORD_FORM = (
    r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])"
)
NOTION_FORM = r"\bsecret_[A-Za-z0-9]{43}\b"
