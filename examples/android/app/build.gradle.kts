plugins {
    id("com.android.application")
    id("org.jetbrains.kotlin.android")
}

android {
    namespace = "org.coterie.example"
    compileSdk = 34
    defaultConfig {
        applicationId = "org.coterie.example"
        minSdk = 24
        targetSdk = 34
        versionCode = 1
        versionName = "1.0"
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    kotlinOptions { jvmTarget = "1.8" }
}

dependencies {
    implementation(project(":coterie")) // or files("coterie.aar"), which tools/dev/make_aar.sh makes
    implementation("androidx.work:work-runtime-ktx:2.9.1")
}
